namespace HibpIngest.Api.AccessLog;

public static class AccessLogReader
{
    /// <summary>
    /// Reads every record once, in the order of writing. Stops at the end or at an incomplete frame, which an open blob may have.
    /// </summary>
    /// <param name="blob">At its first byte; not disposed.</param>
    /// <param name="read">Receives the process, the record's number in it, the route's template and the record.</param>
    /// <param name="cancellationToken">Stops the read between two frames.</param>
    /// <returns>True if the blob was ended, so that nothing more is appended.</returns>
    /// <exception cref="StoreMismatchException">The blob is damaged, or another program wrote it.</exception>
    public static async Task<bool> ReadAsync(Stream blob, AccessVisitor read, CancellationToken cancellationToken)
    {
        var buffer = new byte[AccessFrame.HeaderBytes];
        string[]? routes = null;
        ulong? next = null;
        while (true)
        {
            var had = await blob.ReadAtLeastAsync(
                buffer.AsMemory(0, AccessFrame.HeaderBytes), AccessFrame.HeaderBytes, throwOnEndOfStream: false, cancellationToken);
            if (had < AccessFrame.HeaderBytes)
                return false;
            var header = AccessFrame.ReadHeader(buffer) ?? throw Damaged();
            var length = AccessFrame.HeaderBytes + header.Bytes;
            if (buffer.Length < length)
                Array.Resize(ref buffer, length);
            had = await blob.ReadAtLeastAsync(
                buffer.AsMemory(AccessFrame.HeaderBytes, header.Bytes), header.Bytes, throwOnEndOfStream: false, cancellationToken);
            if (had < header.Bytes)
                return false;
            if (!AccessFrame.IsWhole(buffer.AsSpan(0, length)))
                throw Damaged();
            if (header.Kind == AccessFrameKind.End)
                return true;
            var content = buffer.AsSpan(AccessFrame.HeaderBytes, header.Bytes);
            if (header.Kind == AccessFrameKind.Routes)
                routes = ReadRoutes(content);
            else if (header.Kind == AccessFrameKind.Records && content.Length % AccessFrame.RecordBytes == 0)
                next = Visit(content, header, routes ?? throw Damaged(), next ?? 0, read);
            else
                throw Damaged();
        }
    }

    private static ulong Visit(ReadOnlySpan<byte> content, AccessFrameHeader header, string[] routes, ulong next, AccessVisitor read)
    {
        var number = header.Counter;
        for (; !content.IsEmpty; content = content[AccessFrame.RecordBytes..], number++)
        {
            if (number < next)
                continue; // a block that was appended twice
            var record = AccessFrame.Read(content);
            if (record.Route >= routes.Length)
                throw Damaged();
            read(header.Instance, number, routes[record.Route], record);
        }
        return Math.Max(next, number);
    }

    private static string[] ReadRoutes(ReadOnlySpan<byte> content)
    {
        try
        {
            var routes = new string[BinaryPrimitives.ReadUInt16LittleEndian(content)];
            content = content[2..];
            for (var i = 0; i < routes.Length; i++)
            {
                var length = BinaryPrimitives.ReadUInt16LittleEndian(content);
                routes[i] = Encoding.UTF8.GetString(content.Slice(2, length));
                content = content[(2 + length)..];
            }
            return routes;
        }
        catch (ArgumentOutOfRangeException)
        {
            throw Damaged();
        }
    }

    private static StoreMismatchException Damaged() =>
        new("a blob of the access log can't be read: it is damaged, or something else wrote it");
}

/// <param name="number">The record's number in its process; the two together identify it.</param>
public delegate void AccessVisitor(Guid instance, ulong number, string route, in AccessRecord record);
