using HibpIngest.Errors;
using HibpIngest.Messages;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Passwords;

/// <summary>
/// Takes hashes that are to be added to what is served, and their confirmation. The row of a confirmed transaction is its message's
/// outbox: it says when one was sent, and <see cref="SweepAppends"/> sends another where that is never or long ago.
/// </summary>
/// <param name="log">Told of messages that were not sent.</param>
public sealed partial class SubmitAppends(IPasswordAppends appends, IMessageQueues queues, TimeProvider time, ILogger<SubmitAppends> log)
{
    /// <summary>Keeps hashes as a new transaction, which counts once it is confirmed. Nothing is told from what was sent before.</summary>
    /// <param name="sha1">Those of SHA-1, in any order; sorted here.</param>
    /// <param name="cancellationToken">Stops it, until something of it has been written.</param>
    public async Task<Guid> SubmitAsync(
        string subscription, List<HashCount> sha1, List<HashCount> ntlm, CancellationToken cancellationToken)
    {
        AppendRows.Sort(sha1);
        AppendRows.Sort(ntlm);
        var rows = AppendRows.Write(sha1, ntlm);
        var transaction = new AppendTransaction
        {
            Subscription = subscription,
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
            // Whoever sent them may leave meanwhile: hashes without a row would stay for ever.
            await appends.WriteRowsAsync(transaction.Id, rows, CancellationToken.None);
            await appends.AddAsync(transaction, CancellationToken.None);
        }
    }

    /// <summary>
    /// Confirms a transaction: it will be added. Of those who confirm it at the same time one sends its message. Where that fails it
    /// is confirmed all the same, and its row says that no message was sent.
    /// </summary>
    public async Task<AppendConfirmation> ConfirmAsync(string subscription, Guid id, CancellationToken cancellationToken)
    {
        if (await appends.FindAsync(subscription, id, cancellationToken) is not { } sent)
            return AppendConfirmation.NotFound;
        if (sent.State != AppendState.Sent)
            return AppendConfirmation.Confirmed;
        var confirmed = await appends.UpdateAsync(
            sent.Sha1Rows + sent.NtlmRows > 0 ? sent with { State = AppendState.Confirmed }
            : sent with { State = AppendState.Done, DoneAt = time.GetUtcNow() },
            CancellationToken.None);
        if (confirmed is null)
        {
            // Somebody else was first; or it was this one, and the answer was lost: then Sweep sends the message.
            return (await appends.FindAsync(subscription, id, cancellationToken))?.State switch
            {
                null => AppendConfirmation.NotFound,
                AppendState.Sent => AppendConfirmation.Busy,
                _ => AppendConfirmation.Confirmed,
            };
        }
        if (confirmed.State == AppendState.Confirmed)
            await SendAsync(confirmed);
        return AppendConfirmation.Confirmed;
    }

    private async Task SendAsync(AppendTransaction confirmed)
    {
        var message = new AppendMessage(confirmed.Subscription, confirmed.Id);
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
            // Behind the message: a row that says too much would keep Sweep from sending it. Where this loses, it is in hand already.
            await appends.UpdateAsync(confirmed with { SentAt = time.GetUtcNow() }, CancellationToken.None);
        }
        catch (HibpException e)
        {
            LogNotSent(e.Message);
        }
    }

    [LoggerMessage(
        EventIds.SubmitAppendsNotSent, LogLevel.Warning,
        "appended passwords were confirmed, and it is not known that their message was sent; Sweep sends it again: {Reason}")]
    private partial void LogNotSent(string reason);
}
