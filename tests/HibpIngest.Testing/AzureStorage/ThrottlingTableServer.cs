using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>
/// A server with the table service's limits (<see cref="TableModel{TPartition}"/>): it refuses what they don't allow
/// as the service does, in the response to the transaction. Writes to the account table are completed here, or
/// forwarded to another server; everything else is forwarded.
/// </summary>
/// <param name="upstream">Address of the upstream table service; null: there are only writes.</param>
/// <param name="answersWrites">Completes writes to the account table here, instead of forwarding them.</param>
internal sealed class ThrottlingTableServer(TableLimits limits, Uri? upstream, bool answersWrites) : LocalServer
{
    private const string Busy = """{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"0:The server is busy."}}}""";

    private readonly Forwarder _forwarder = new();
    private readonly TableModel<string> _model = new(limits, TimeProvider.System);
    private long _accepted;
    private long _transactions;
    private long _refused;

    /// <summary>Entities in completed writes.</summary>
    public long Accepted => Interlocked.Read(ref _accepted);

    /// <summary>Completed writes, each of one entity or of several in a transaction.</summary>
    public long Transactions => Interlocked.Read(ref _transactions);

    public double Refused => (double)_refused / (_refused + _transactions);

    public static Task<ThrottlingTableServer> StartAsync(TableLimits limits, Uri? upstream = null, bool answersWrites = true) =>
        StartAsync(new ThrottlingTableServer(limits, upstream, answersWrites));

    public override async ValueTask DisposeAsync()
    {
        await base.DisposeAsync();
        _forwarder.Dispose();
    }

    protected override async Task AnswerAsync(HttpContext context)
    {
        using var buffer = new MemoryStream();
        await context.Request.Body.CopyToAsync(buffer);
        var body = buffer.ToArray();
        var path = context.Request.Path.Value!;
        var batch = path.EndsWith("$batch", StringComparison.Ordinal);
        var isInsert = context.Request.Method == HttpMethods.Post && path.EndsWith("/accounts", StringComparison.Ordinal);
        var partition = isInsert ? JsonElement.Parse(body).GetProperty("PartitionKey").GetString()
            : Partition(batch ? body : Encoding.UTF8.GetBytes(path));
        if (partition is null || (!batch && !isInsert && context.Request.Method != HttpMethods.Patch))
        {
            await PassOnAsync(context, body);
            return;
        }
        var entities = batch ? body.AsSpan().Count("PATCH http"u8) : 1;
        if (!Take(partition, entities))
        {
            Interlocked.Increment(ref _refused);
            await Task.Delay(limits.RefusalLatency);
            const int Status = StatusCodes.Status503ServiceUnavailable;
            await (batch ? LoopbackServer.FailAsync(context, Status, "ServerBusy", index: 0, "The server is busy.")
                : LoopbackServer.JsonAsync(context, Status, Busy));
            return;
        }
        Interlocked.Add(ref _accepted, entities);
        Interlocked.Increment(ref _transactions);
        if (!answersWrites)
        {
            await PassOnAsync(context, body);
            return;
        }
        await Task.Delay(limits.Latency + (entities * limits.EntityLatency));
        if (batch)
            await AcceptedTransaction.AnswerAsync(context, entities);
        else
            context.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    private bool Take(string partition, int entities) =>
        (limits.OnlyPartition is { } only && only != partition) || _model.Take(partition, entities);

    private Task PassOnAsync(HttpContext context, byte[] body)
    {
        if (upstream is not null)
            return _forwarder.SendAsync(context, body, Address, upstream);
        context.Response.StatusCode = StatusCodes.Status501NotImplemented;
        return Task.CompletedTask;
    }

    /// <summary>Returns the key in the first <c>/accounts...(PartitionKey='...'</c>: a layout's table can have a longer name.</summary>
    private static string? Partition(ReadOnlySpan<byte> text)
    {
        var at = text.IndexOf("/accounts"u8);
        if (at < 0)
            return null;
        text = text[at..];
        at = text.IndexOf("(PartitionKey='"u8);
        if (at < 0)
            return null;
        text = text[(at + "(PartitionKey='".Length)..];
        return Encoding.ASCII.GetString(text[..text.IndexOf((byte)'\'')]);
    }
}
