namespace HibpIngest.Passwords.Appends;

/// <summary>
/// Accepts hashes to add to the served release, and their confirmation. The row of a confirmed transaction is the outbox of its message: it
/// records when one was sent, and <see cref="SweepAppends"/> sends another if that was never or long ago.
/// </summary>
public sealed partial class SubmitAppends(IPasswordAppends appends, IMessageQueues queues, TimeProvider time, ILogger<SubmitAppends> log)
{
    /// <summary>Stores hashes as a new transaction, which counts once it is confirmed. Equal submissions are not recognised.</summary>
    /// <param name="sha1">Sorted in place, as are the NTLM hashes.</param>
    /// <param name="cancellationToken">Ignored once writing has started.</param>
    public async Task<Guid> SubmitAsync(
        string submitter, List<HashCount> sha1, List<HashCount> ntlm, CancellationToken cancellationToken)
    {
        AppendRows.Sort(sha1);
        AppendRows.Sort(ntlm);
        var rows = AppendRows.Write(sha1, ntlm);
        var transaction = new AppendTransaction
        {
            Submitter = submitter,
            Id = Guid.NewGuid(),
            CreatedAt = time.GetUtcNow(),
            Sha1Rows = sha1.Count,
            NtlmRows = ntlm.Count,
        };
        cancellationToken.ThrowIfCancellationRequested();
        try
        {
            await WriteAsync();
        }
        catch (StoreMissingException)
        {
            await appends.CreateAsync(cancellationToken);
            await WriteAsync();
        }
        return transaction.Id;

        async Task WriteAsync()
        {
            // This write isn't cancellable: if the client disconnected halfway, hashes without a row would stay forever.
            await appends.WriteRowsAsync(transaction.Id, rows, CancellationToken.None);
            await appends.AddAsync(transaction, CancellationToken.None);
        }
    }

    /// <summary>Confirms a transaction. It is confirmed even if its message can't be sent; its row then says so.</summary>
    public async Task<AppendConfirmation> ConfirmAsync(string submitter, Guid id, CancellationToken cancellationToken)
    {
        if (await appends.FindAsync(submitter, id, cancellationToken) is not { } sent)
            return AppendConfirmation.NotFound;
        if (sent.State != AppendState.Submitted)
            return AppendConfirmation.Confirmed;
        var confirmed = await appends.UpdateAsync(
            sent.Sha1Rows + sent.NtlmRows > 0 ? sent with { State = AppendState.Confirmed }
            : sent with { State = AppendState.Done, DoneAt = time.GetUtcNow() },
            CancellationToken.None);
        if (confirmed is null)
        {
            // Another caller was first, or this update succeeded and its response was lost: then Sweep sends the message.
            return (await appends.FindAsync(submitter, id, cancellationToken))?.State switch
            {
                null => AppendConfirmation.NotFound,
                AppendState.Submitted => AppendConfirmation.Busy,
                _ => AppendConfirmation.Confirmed,
            };
        }
        if (confirmed.State == AppendState.Confirmed)
            await SendAsync(confirmed);
        return AppendConfirmation.Confirmed;
    }

    private async Task SendAsync(AppendTransaction confirmed)
    {
        var message = new AppendMessage(confirmed.Submitter, confirmed.Id);
        try
        {
            try
            {
                await queues.SendAsync(message, TimeSpan.Zero, CancellationToken.None);
            }
            catch (StoreMissingException)
            {
                await queues.Get(message.GetQueue()).CreateAsync(CancellationToken.None);
                await queues.SendAsync(message, TimeSpan.Zero, CancellationToken.None);
            }
            // After the message: recording the time first would keep Sweep from sending a message that was lost. If the update loses a
            // race, the transaction is being processed already.
            await appends.UpdateAsync(confirmed with { MessageSentAt = time.GetUtcNow() }, CancellationToken.None);
        }
        catch (HibpException e)
        {
            LogNotSent(e.Message);
        }
    }

    [LoggerMessage(
        EventIds.SubmitAppendsNotSent, LogLevel.Warning,
        "appended passwords: confirmed, but their message may not have been sent; Sweep sends it again: {Reason}")]
    private partial void LogNotSent(string reason);
}

public enum AppendConfirmation
{
    /// <summary>The transaction is confirmed, by this call or an earlier one.</summary>
    Confirmed = 0,

    /// <summary>The submitter has no transaction of this id.</summary>
    NotFound,

    /// <summary>Another caller changed the transaction at the same time without confirming it: retry.</summary>
    Busy,
}
