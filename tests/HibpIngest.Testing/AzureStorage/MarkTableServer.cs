using System.Buffers;
using System.Buffers.Binary;
using System.Buffers.Text;
using System.Numerics;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>
/// A table server that responds at once and keeps, in memory, which accounts and hashes have which mark: in 12 bytes a slot, of which there
/// are 1.3 to 2.7 for each account, its hash included. It answers writes, point reads, and listings of the domains named at its start, and
/// forwards everything else. An account is known by the first 64 bits of its SHA-1, which for the table of ranges are in the keys: of 100
/// million, two agree in one run of 3,700. The rest of a hash isn't kept.
/// </summary>
/// <remarks>A store with one layout, without opt-outs, and with marks up to 250 of a single load.</remarks>
internal sealed partial class MarkTableServer : LocalServer
{
    private const int RangesShift = 16;
    private const string PartitionHeader = "x-ms-continuation-NextPartitionKey";
    private const string RowHeader = "x-ms-continuation-NextRowKey";
    private const string Missing = """{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"no such entity"}}}""";

    private readonly Forwarder _forwarder = new();
    private readonly Uri _upstream;
    private readonly Dictionary<string, ConcurrentDictionary<string, int>> _listed;

    // A hash table with linear probing; key 0 marks a free slot. The lower half of a slot's marks are the account's, the upper half its
    // hash's.
    private readonly ulong[] _keys;
    private readonly uint[] _marks;
    private readonly int _pageRows;
    private long _accounts;
    private long _hashes;
    private long _requests;
    private long _entities;
    private Exception? _fault;

    private MarkTableServer(Uri upstream, int capacity, IEnumerable<string> listed)
    {
        _upstream = upstream;
        _listed = listed.ToDictionary(domain => domain, _ => new ConcurrentDictionary<string, int>());
        // At most three quarters full.
        var slots = (int)BitOperations.RoundUpToPowerOf2((uint)(capacity / 3L * 4));
        (_keys, _marks) = (new ulong[slots], new uint[slots]);
        // The service's pages have 1,000 rows. Here, a share of the accounts, so that small loads have several pages too.
        _pageRows = Math.Clamp(capacity / 200_000, 5, 1_000);
    }

    /// <summary>Different accounts in the table of accounts.</summary>
    public long Accounts => Interlocked.Read(ref _accounts);

    /// <summary>Different hashes in the table of ranges.</summary>
    public long Hashes => Interlocked.Read(ref _hashes);

    /// <summary>Writes, each of one entity or of several in a transaction.</summary>
    public long Requests => Interlocked.Read(ref _requests);

    public long Entities => Interlocked.Read(ref _entities);

    /// <summary>The first request that this server can't answer; null: there was none.</summary>
    public Exception? Fault => Volatile.Read(ref _fault);

    /// <param name="listed">Domains whose accounts can be listed.</param>
    public static Task<MarkTableServer> StartAsync(Uri upstream, int capacity, IEnumerable<string> listed) =>
        StartAsync(new MarkTableServer(upstream, capacity, listed));

    /// <summary>Returns an account's marks in the tables of accounts and ranges; 0: it isn't there.</summary>
    public (int Account, int Hash) Find(ReadOnlySpan<byte> account)
    {
        var marks = Find(KeyOf(account));
        return ((ushort)marks, (int)(marks >> RangesShift));
    }

    public override async ValueTask DisposeAsync()
    {
        await base.DisposeAsync();
        _forwarder.Dispose();
    }

    protected override async Task AnswerAsync(HttpContext context)
    {
        var length = (int)(context.Request.ContentLength ?? 0);
        var buffer = ArrayPool<byte>.Shared.Rent(length);
        try
        {
            await context.Request.Body.ReadExactlyAsync(buffer.AsMemory(0, length));
            await AnswerAsync(context, buffer.AsMemory(0, length));
        }
        catch (InvalidDataException e)
        {
            Interlocked.CompareExchange(ref _fault, e, null);
            throw;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private Task AnswerAsync(HttpContext context, ReadOnlyMemory<byte> body)
    {
        var path = context.Request.Path.Value!;
        if (path.EndsWith("/$batch", StringComparison.Ordinal) && KeepAll(body.Span) is > 0 and var operations)
            return AcceptedTransaction.AnswerAsync(context, operations);
        if (EntityPath().Match(path) is not { Success: true } entity)
            return path.EndsWith("/accounts()", StringComparison.Ordinal) ? ListAsync(context)
                : _forwarder.SendAsync(context, body.ToArray(), Address, _upstream);
        var (domain, row) = (entity.Groups["partition"].Value, entity.Groups["row"].Value);
        if (context.Request.Method == HttpMethods.Get)
            return ReadAsync(context, domain, row);
        Keep(
            entity.Groups["table"].ValueSpan is "accounts", Encoding.ASCII.GetBytes(domain), Encoding.ASCII.GetBytes(row),
            MarkOf(JsonElement.Parse(body.Span)));
        Interlocked.Increment(ref _requests);
        context.Response.StatusCode = StatusCodes.Status204NoContent;
        return Task.CompletedTask;
    }

    /// <summary>Keeps the entities of a transaction; returns their number, 0 if it writes to other tables.</summary>
    private int KeepAll(ReadOnlySpan<byte> body)
    {
        var count = 0;
        for (int at; (at = body.IndexOf("\r\n\r\nPATCH "u8)) >= 0; count++)
        {
            // http://host/account/accounts(PartitionKey='domain',RowKey='alias') HTTP/1.1
            body = body[(at + 10)..];
            var line = body[..body.IndexOf((byte)'\r')];
            var keys = line.IndexOf("(PartitionKey='"u8);
            var table = line[(line[..keys].LastIndexOf((byte)'/') + 1)..keys];
            var isAccount = table.SequenceEqual("accounts"u8);
            if (!isAccount && !table.SequenceEqual("ranges"u8))
                return 0;
            line = line[(keys + 15)..];
            var partition = line[..line.IndexOf((byte)'\'')];
            line = line[(partition.Length + 10)..];
            var row = line[..line.IndexOf((byte)'\'')];
            body = body[(body.IndexOf("\r\n\r\n{\"b"u8) + 7)..];
            if (!Utf8Parser.TryParse(body, out int mark, out var digits) || !body[digits..].StartsWith("\":true}"u8))
                throw new InvalidDataException("a part of a transaction has no mark, or something else");
            Keep(isAccount, partition, row, mark);
        }
        if (count > 0)
            Interlocked.Increment(ref _requests);
        return count;
    }

    private void Keep(bool isAccount, ReadOnlySpan<byte> partition, ReadOnlySpan<byte> row, int mark)
    {
        Interlocked.Increment(ref _entities);
        if (mark is < 1 or > 250 || row.ContainsAny((byte)'!', (byte)'%'))
            throw new InvalidDataException("an entity that this server can't keep");
        if (!isAccount)
        {
            Span<byte> hash = stackalloc byte[8];
            if (partition.Length != 2 || row.Length != 38 || row.ContainsAnyInRange((byte)'a', (byte)'f')
                || Convert.FromHexString(partition, hash, out _, out _) != OperationStatus.Done
                || Convert.FromHexString(row[..14], hash[1..], out _, out _) != OperationStatus.Done)
                throw new InvalidDataException("keys of a range that aren't a hash");
            if ((Mark(BinaryPrimitives.ReadUInt64BigEndian(hash), (uint)mark << RangesShift) >> RangesShift) == 0)
                Interlocked.Increment(ref _hashes);
            return;
        }
        Span<byte> account = stackalloc byte[row.Length + 1 + partition.Length];
        row.CopyTo(account);
        account[row.Length] = (byte)'@';
        partition.CopyTo(account[(row.Length + 1)..]);
        if ((ushort)Mark(KeyOf(account), (uint)mark) == 0)
            Interlocked.Increment(ref _accounts);
        Span<char> domain = stackalloc char[partition.Length];
        Encoding.ASCII.GetChars(partition, domain);
        if (_listed.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(domain, out var aliases))
            aliases[Encoding.ASCII.GetString(row)] = mark;
    }

    /// <summary>Adds bits to the marks of a key, and returns those before.</summary>
    private uint Mark(ulong key, uint bits)
    {
        for (var slot = (int)key & (_keys.Length - 1); ; slot = (slot + 1) & (_keys.Length - 1))
        {
            var found = Volatile.Read(ref _keys[slot]);
            if (found == 0 && (found = Interlocked.CompareExchange(ref _keys[slot], key, 0)) == 0)
                found = key;
            if (found == key)
                return Interlocked.Or(ref _marks[slot], bits);
        }
    }

    private uint Find(ulong key)
    {
        for (var slot = (int)key & (_keys.Length - 1); ; slot = (slot + 1) & (_keys.Length - 1))
        {
            var found = Volatile.Read(ref _keys[slot]);
            if (found == key || found == 0)
                return found == 0 ? 0 : Volatile.Read(ref _marks[slot]);
        }
    }

    private Task ReadAsync(HttpContext context, string domain, string alias)
    {
        var (mark, _) = Find(Encoding.ASCII.GetBytes($"{alias}@{domain}"));
        context.Response.StatusCode = mark > 0 ? StatusCodes.Status200OK : StatusCodes.Status404NotFound;
        context.Response.ContentType = "application/json";
        return context.Response.WriteAsync(mark > 0 ? string.Create(CultureInfo.InvariantCulture, $$"""{"b{{mark}}":true}""") : Missing);
    }

    private Task ListAsync(HttpContext context)
    {
        var domain = PartitionFilter().Match(context.Request.Query["$filter"].ToString()).Groups["partition"].Value;
        if (!_listed.TryGetValue(domain, out var aliases))
            throw new InvalidDataException("a listing of a domain that wasn't named at the start");
        var after = context.Request.Query["NextRowKey"].ToString();
        var page = aliases.OrderBy(alias => alias.Key, StringComparer.Ordinal)
            .SkipWhile(alias => string.CompareOrdinal(alias.Key, after) < 0).Take(_pageRows + 1).ToList();
        if (page.Count > _pageRows)
            (context.Response.Headers[PartitionHeader], context.Response.Headers[RowHeader]) = (domain, page[_pageRows].Key);
        context.Response.ContentType = "application/json";
        var rows = page.Take(_pageRows).Select(alias => string.Create(
            CultureInfo.InvariantCulture, $$"""{"RowKey":"{{alias.Key}}","b{{alias.Value}}":true}"""));
        return context.Response.WriteAsync($$"""{"value":[{{string.Join(',', rows)}}]}""");
    }

    private static ulong KeyOf(ReadOnlySpan<byte> account)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
        SHA1.HashData(account, hash);
        return BinaryPrimitives.ReadUInt64BigEndian(hash);
    }

    private static int MarkOf(JsonElement entity) => entity.EnumerateObject()
        .Where(property => property.Name[0] == 'b' && property.Value.ValueKind == JsonValueKind.True)
        .Select(property => int.Parse(property.Name.AsSpan(1), CultureInfo.InvariantCulture)).Single();

    [GeneratedRegex(@"/(?<table>accounts|ranges)\(PartitionKey='(?<partition>[^']+)',RowKey='(?<row>[^']+)'\)$", RegexOptions.None, 60_000)]
    private static partial Regex EntityPath();

    [GeneratedRegex("^PartitionKey eq '(?<partition>[^']+)'", RegexOptions.None, 60_000)]
    private static partial Regex PartitionFilter();
}
