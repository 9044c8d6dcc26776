namespace HibpIngest.Api.AccessLog;

/// <summary>Records that are written with one append: a frame being built. Accessed under the log's lock, or by its writer alone.</summary>
internal sealed class AccessGroup
{
    private const int FirstRoom = 512;

    private byte[] _bytes = new byte[AccessFrame.HeaderBytes + (FirstRoom * AccessFrame.RecordBytes)];
    private TaskCompletionSource? _ended;

    public int Count { get; private set; }

    /// <summary>Completes when the records are durable, or fails. Created only if a caller waits.</summary>
    public Task Ended => (_ended ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
    public Memory<byte> Frame => _bytes.AsMemory(0, AccessFrame.HeaderBytes + (Count * AccessFrame.RecordBytes));

    public void Add(in AccessRecord record, byte flags)
    {
        var at = AccessFrame.HeaderBytes + (Count * AccessFrame.RecordBytes);
        if (at + AccessFrame.RecordBytes > _bytes.Length)
            Array.Resize(ref _bytes, AccessFrame.HeaderBytes + (2 * (_bytes.Length - AccessFrame.HeaderBytes)));
        AccessFrame.Write(_bytes.AsSpan(at), record, flags);
        Count++;
    }

    public void Complete() => Interlocked.Exchange(ref _ended, null)?.SetResult();

    /// <summary>Fails the callers that wait. Their records stay in the group, with status 503, since their requests are refused.</summary>
    public void Fail(Exception reason)
    {
        for (var at = AccessFrame.HeaderBytes; at < Frame.Length; at += AccessFrame.RecordBytes)
        {
            var record = _bytes.AsSpan(at, AccessFrame.RecordBytes);
            if ((record[AccessFrame.RecordOffset.Flags] & AccessFrame.Durable) == 0)
                continue;
            BinaryPrimitives.WriteUInt16LittleEndian(record[AccessFrame.RecordOffset.Status..], AccessFrame.NotDurableStatus);
            BinaryPrimitives.WriteUInt32LittleEndian(record[AccessFrame.RecordOffset.Bytes..], AccessRecord.UnknownBytes);
            record[AccessFrame.RecordOffset.Flags] &= unchecked((byte)~AccessFrame.Durable);
        }
        if (Interlocked.Exchange(ref _ended, null) is not { } ended)
            return;
        ended.SetException(reason);
        _ = ended.Task.Exception; // marks it as observed, in case no caller waits
    }

    public void Clear() => Count = 0;
}
