using System.Buffers.Binary;

namespace HibpIngest.AccessLog;

/// <summary>Records that are written with one append: a frame in the making. Used under its log's lock, or by its writer alone.</summary>
internal sealed class AccessGroup
{
    private const int FirstRoom = 512;

    private byte[] _bytes = new byte[AccessFrame.HeaderBytes + (FirstRoom * AccessFrame.RecordBytes)];
    private TaskCompletionSource? _ended;

    public int Count { get; private set; }

    /// <summary>Completes when they are durable, or are not; there is one where somebody waits.</summary>
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

    /// <summary>
    /// Those who wait are told that their records are not durable. The records stay, as those of requests that were answered 503.
    /// </summary>
    public void Fail(Exception reason)
    {
        for (var at = AccessFrame.HeaderBytes; at < Frame.Length; at += AccessFrame.RecordBytes)
        {
            var record = _bytes.AsSpan(at, AccessFrame.RecordBytes);
            if ((record[AccessFrame.FlagsOffset] & AccessFrame.Durable) == 0)
                continue;
            BinaryPrimitives.WriteUInt16LittleEndian(record[AccessFrame.StatusOffset..], AccessFrame.NotDurableStatus);
            BinaryPrimitives.WriteUInt32LittleEndian(record[AccessFrame.BytesOffset..], AccessRecord.UnknownBytes);
            record[AccessFrame.FlagsOffset] &= unchecked((byte)~AccessFrame.Durable);
        }
        if (Interlocked.Exchange(ref _ended, null) is not { } ended)
            return;
        ended.SetException(reason);
        _ = ended.Task.Exception; // seen, whoever waits
    }

    public void Clear() => Count = 0;
}
