using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace HibpIngest.Pipeline.Ingest;

/// <summary>
/// Finds accounts in raw bytes that arrive in chunks; the result doesn't depend on where the chunks are cut. Pushes accepted accounts into
/// the sink in the order of the text, lower-cased, and counts the others under the first rule that they break.
/// <para>
/// Candidates are found from left to right and don't overlap, as by a greedy leftmost search for
/// <c>[A-Za-z0-9.\-+_]+@[A-Za-z0-9.\-]{3,}</c>, with one addition: if the character before the first run is a backslash and the run begins
/// with <c>t</c>, <c>r</c> or <c>n</c>, that letter belongs to an escape and not to the alias. If that leaves the alias empty, there is no
/// candidate. After an @ without a candidate the search continues at the next character.
/// </para>
/// <para>
/// Bytes from 0x80 are separators, so UTF-8 and Latin-1 needn't be distinguished; UTF-16 is recognised in either byte order by its byte
/// order mark. The state kept between chunks has a fixed size, however long a line or run is. Not thread-safe.
/// </para>
/// <para>
/// An address with characters outside ASCII yields no account, or only a part of it that breaks an unrelated rule. It is counted under
/// <see cref="AccountRule.NonAscii"/> instead if no account was found at its @ and such a character stands directly before the @, before
/// an alias that begins with a period, or directly after the domain's run; the text after the @, such characters included, must then read
/// label, period, label. This count never affects which accounts are found.
/// </para>
/// </summary>
/// <param name="counts">Receives the rejected candidates; <see cref="RejectionCounts.Duplicates"/> isn't changed.</param>
internal sealed class AccountScanner(IAccountSink sink, RejectionCounts counts)
{
    /// <summary>Must be raised with every change to what is found in a file, because positions depend on it.</summary>
    public const int Version = 2;

    /// <summary>Oldest version whose loads can be resumed, under that version's rules.</summary>
    public const int OldestVersion = 1;

    /// <summary>First version that opens tars within an archive instead of scanning them as text.</summary>
    public const int OpensTarsFrom = 2;

    // Runs are cut to this: an escape letter, the longest alias and one byte more, so that an over-long alias stays over-long.
    private const int MaxStoredAlias = AccountRules.MaxAliasLength + 2;
    private const int MaxStoredDomain = AccountRules.MaxDomainLength + 1;
    private const int DecodedBytes = 8192;
    private const byte FirstNonAscii = 0x80;
    private const int NearBytes = 32; // of one Vector256
    private const byte LowerBit = 0x20;

    private readonly byte[] _alias = new byte[MaxStoredAlias];
    private readonly byte[] _domain = new byte[MaxStoredDomain];
    private readonly byte[] _lower = new byte[MaxStoredAlias + MaxStoredDomain];

    // The candidate cut by the end of the last chunk: its alias run and, if _inDomain, its domain run.
    private int _aliasLength;
    private int _domainLength;
    private bool _afterBackslash;
    private bool _afterNonAscii;
    private bool _inDomain;

    // The address outside ASCII whose domain is being followed: the part reached, and the rule to count if it turns out not to be one.
    private DomainPart _following;
    private AccountRule? _otherwise;

    private TextEncoding _encoding;
    private byte _firstByte;
    private int _markBytes;
    private byte _oddByte;
    private bool _hasOddByte;
    private byte[]? _decoded;

    private enum TextEncoding { Unknown, Bytes, Utf16LittleEndian, Utf16BigEndian }

    private enum DomainPart { None, Nothing, Label, LabelAndPeriod }

    public void Scan(ReadOnlySpan<byte> chunk)
    {
        if (_encoding == TextEncoding.Unknown)
            chunk = Detect(chunk);
        if (chunk.IsEmpty)
            return;
        if (_encoding == TextEncoding.Bytes)
            ScanBytes(chunk);
        else
            ScanUtf16(chunk);
    }

    // Finishes the pending candidate. The next chunk begins another text (an entry of an archive), with its own encoding.
    public void EndOfText()
    {
        // Half a byte order mark and half a code unit are separators: no byte follows that could complete them.
        if (_inDomain && _domainLength >= AccountRules.MinCandidateDomainLength)
            Decide(PendingAlias(), _domain.AsSpan(0, _domainLength), _afterNonAscii, default);
        DropPending();
        EndFollowing(_otherwise);
        _encoding = TextEncoding.Unknown;
        _markBytes = 0;
        _hasOddByte = false;
    }

    /// <returns>The part of the chunk after the byte order mark.</returns>
    private ReadOnlySpan<byte> Detect(ReadOnlySpan<byte> chunk)
    {
        for (; !chunk.IsEmpty; chunk = chunk[1..])
        {
            var next = chunk[0];
            switch (_markBytes, _firstByte, next)
            {
                case (0, _, 0xFF or 0xFE or 0xEF):
                    _firstByte = next;
                    _markBytes = 1;
                    continue;
                case (1, 0xEF, 0xBB):
                    _markBytes = 2;
                    continue;
                case (2, _, 0xBF):
                    _encoding = TextEncoding.Bytes;
                    return chunk[1..];
                case (1, 0xFF, 0xFE):
                    _encoding = TextEncoding.Utf16LittleEndian;
                    return chunk[1..];
                case (1, 0xFE, 0xFF):
                    _encoding = TextEncoding.Utf16BigEndian;
                    return chunk[1..];
            }
            _encoding = TextEncoding.Bytes;
            _afterNonAscii = _markBytes > 0; // the bytes held back are separators
            return chunk;
        }
        return chunk;
    }

    private void ScanUtf16(ReadOnlySpan<byte> chunk)
    {
        _decoded ??= new byte[DecodedBytes];
        if (_hasOddByte)
        {
            ReadOnlySpan<byte> pair = [_oddByte, chunk[0]];
            _hasOddByte = false;
            chunk = chunk[1..];
            ScanBytes(_decoded.AsSpan(0, Narrow(pair)));
        }
        while (chunk.Length >= 2)
        {
            var part = chunk[..Math.Min(chunk.Length & ~1, DecodedBytes * 2)];
            chunk = chunk[part.Length..];
            ScanBytes(_decoded.AsSpan(0, Narrow(part)));
        }
        if (!chunk.IsEmpty)
        {
            _oddByte = chunk[0];
            _hasOddByte = true;
        }
    }

    /// <summary>Narrows UTF-16 to bytes; every code unit outside ASCII becomes a byte from 0x80 on.</summary>
    private int Narrow(ReadOnlySpan<byte> utf16)
    {
        var units = MemoryMarshal.Cast<byte, ushort>(utf16);
        var bytes = _decoded.AsSpan(0, units.Length);
        var swap = (_encoding == TextEncoding.Utf16LittleEndian) != BitConverter.IsLittleEndian;
        var i = 0;
        for (; i <= units.Length - Vector256<ushort>.Count; i += Vector256<ushort>.Count)
        {
            var vector = Vector256.Create(units[i..]);
            if (swap)
                vector = Vector256.ShiftLeft(vector, 8) | Vector256.ShiftRightLogical(vector, 8);
            vector = Vector256.Min(vector, Vector256.Create((ushort)0xFF));
            Vector128.Narrow(vector.GetLower(), vector.GetUpper()).CopyTo(bytes[i..]);
        }
        for (; i < units.Length; i++)
            bytes[i] = (byte)Math.Min(swap ? BinaryPrimitives.ReverseEndianness(units[i]) : units[i], (ushort)0xFF);
        return units.Length;
    }

    private void ScanBytes(ReadOnlySpan<byte> text)
    {
        if (_following != DomainPart.None)
            Follow(text);
        // Text before the floor has been decided, so no run extends back past it. The byte before the floor is never a backslash, nor
        // outside ASCII.
        var floor = FinishPending(text);
        if (floor < 0)
            return;
        var position = floor;
        while (true)
        {
            var at = text[position..].IndexOf((byte)'@');
            if (at < 0)
                break;
            at += position;
            if (AddNear(text, floor, at) is > 0 and var end)
            {
                position = floor = end;
                continue;
            }
            var start = floor + text[floor..at].LastIndexOfAnyExcept(AccountRules.AliasBytes) + 1;
            if (start < at && start > floor && IsEscape(text[start - 1], text[start]))
                start++;
            var afterNonAscii = start > floor && text[start - 1] >= FirstNonAscii;
            if (afterNonAscii && start == at)
                Follow(DomainPart.Nothing, otherwise: null, text[(at + 1)..]);
            var domainLength = text[(at + 1)..].IndexOfAnyExcept(AccountRules.DomainBytes);
            if (domainLength < 0)
            {
                if (start == at)
                {
                    floor = at + 1;
                    break;
                }
                StoreAlias(text[start..at]);
                _afterNonAscii = afterNonAscii;
                _inDomain = true;
                StoreDomain(text[(at + 1)..]);
                return;
            }
            position = at + 1 + domainLength;
            if (start == at || domainLength < AccountRules.MinCandidateDomainLength)
            {
                if (start < at)
                    FollowAfter(text.Slice(at + 1, domainLength), otherwise: null, text[position..]);
                floor = at + 1;
                continue;
            }
            Decide(text[start..at], text.Slice(at + 1, domainLength), afterNonAscii, text[position..]);
            floor = position;
        }
        var tail = floor + text[floor..].LastIndexOfAnyExcept(AccountRules.AliasBytes) + 1;
        _afterBackslash = tail > floor && text[tail - 1] == '\\';
        _afterNonAscii = tail > floor && text[tail - 1] >= FirstNonAscii;
        StoreAlias(text[tail..]);
    }

    /// <summary>
    /// Adds the account around an @ if it and the bytes that end its parts are within <see cref="NearBytes"/>, as nearly every one is. All
    /// bytes are compared at once: a loop over them takes three times as long, mostly for branches that can't be predicted. Does nothing
    /// if any rule could be broken, or the alias could begin with an escape.
    /// </summary>
    /// <returns>The end of its domain; 0 if none was added.</returns>
    private int AddNear(ReadOnlySpan<byte> text, int floor, int at)
    {
        if (at < NearBytes || text.Length - at <= NearBytes)
            return 0;
        var before = Vector256.Create(text.Slice(at - NearBytes, NearBytes));
        var after = Vector256.Create(text.Slice(at + 1, NearBytes));
        var isAlias = IsDomain(before) | Vector256.Equals(before, Vector256.Create((byte)'+'))
            | Vector256.Equals(before, Vector256.Create((byte)'_'));
        var aliasLength = Math.Min(BitOperations.LeadingZeroCount(~isAlias.ExtractMostSignificantBits()), at - floor);
        var domainLength = BitOperations.TrailingZeroCount(~IsDomain(after).ExtractMostSignificantBits());
        if (aliasLength is 0 or NearBytes || domainLength is < AccountRules.MinDomainLength or NearBytes
            || text[at - aliasLength - 1] == '\\')
        {
            return 0;
        }

        // Bit 0 is the first byte of the part.
        var aliasPeriods = Bits(before, '.') >> (NearBytes - aliasLength);
        var inDomain = (1u << domainLength) - 1;
        var periods = Bits(after, '.') & inDomain;
        var edges = periods | (Bits(after, '-') & inDomain);
        var broken = (aliasPeriods & ((aliasPeriods >> 1) | 1)) | (aliasPeriods >> (aliasLength - 1))
            | (edges & 1) | (edges >> (domainLength - 1)) | ((periods >> 1) & edges) | ((edges >> 1) & periods);
        if (broken != 0 || periods == 0)
            return 0;

        var start = at - aliasLength;
        var alias = Vector256.Create(text.Slice(start, NearBytes));
        var isUpper = Vector256.LessThanOrEqual(alias - Vector256.Create((byte)'A'), Vector256.Create((byte)('Z' - 'A')));
        (alias | (isUpper & Vector256.Create(LowerBit))).CopyTo(_lower);
        // Every other byte of a domain has this bit.
        (after | Vector256.Create(LowerBit)).CopyTo(_lower, aliasLength);
        var account = _lower.AsSpan(0, aliasLength + domainLength);
        if (!TopLevelDomains.Contains(account[(aliasLength + BitOperations.Log2(periods) + 1)..]))
            return 0;
        sink.Add(account, aliasLength);
        return at + 1 + domainLength;
    }

    private static uint Bits(Vector256<byte> bytes, char equal) =>
        Vector256.Equals(bytes, Vector256.Create((byte)equal)).ExtractMostSignificantBits();

    // AccountRules.DomainBytes.
    private static Vector256<byte> IsDomain(Vector256<byte> bytes) =>
        Vector256.LessThanOrEqual((bytes | Vector256.Create(LowerBit)) - Vector256.Create((byte)'a'), Vector256.Create((byte)('z' - 'a')))
        | Vector256.LessThanOrEqual(bytes - Vector256.Create((byte)'0'), Vector256.Create((byte)9))
        | Vector256.LessThanOrEqual(bytes - Vector256.Create((byte)'-'), Vector256.Create((byte)('.' - '-')));

    // Continues the candidate cut by the last chunk's end. Returns where the search continues; -1: this chunk cuts it too.
    private int FinishPending(ReadOnlySpan<byte> text)
    {
        var position = 0;
        while (true)
        {
            if (!_inDomain)
            {
                var length = text[position..].IndexOfAnyExcept(AccountRules.AliasBytes);
                if (length < 0)
                {
                    StoreAlias(text[position..]);
                    return -1;
                }
                StoreAlias(text.Slice(position, length));
                position += length;
                if (text[position] != '@')
                {
                    DropPending();
                    return position;
                }
                position++;
                if (PendingAlias().IsEmpty)
                {
                    if (_aliasLength == 0 && _afterNonAscii)
                        Follow(DomainPart.Nothing, otherwise: null, text[position..]);
                    DropPending();
                    return position;
                }
                _inDomain = true;
            }
            var domainLength = text[position..].IndexOfAnyExcept(AccountRules.DomainBytes);
            if (domainLength < 0)
            {
                StoreDomain(text[position..]);
                return -1;
            }
            StoreDomain(text.Slice(position, domainLength));
            position += domainLength;
            if (_domainLength >= AccountRules.MinCandidateDomainLength)
            {
                Decide(PendingAlias(), _domain.AsSpan(0, _domainLength), _afterNonAscii, text[position..]);
                DropPending();
                return position;
            }
            // No candidate here; the run after the @ may be the alias of a later one.
            var run = _domain.AsSpan(0, _domainLength);
            FollowAfter(run, otherwise: null, text[position..]);
            DropPending();
            StoreAlias(run);
        }
    }

    private static bool IsEscape(byte before, byte first) => before == '\\' && first is (byte)'t' or (byte)'r' or (byte)'n';

    private ReadOnlySpan<byte> PendingAlias()
    {
        var run = _alias.AsSpan(0, _aliasLength);
        return _afterBackslash && !run.IsEmpty && IsEscape((byte)'\\', run[0]) ? run[1..] : run;
    }

    private void StoreAlias(ReadOnlySpan<byte> run)
    {
        run = run[..Math.Min(run.Length, MaxStoredAlias - _aliasLength)];
        run.CopyTo(_alias.AsSpan(_aliasLength));
        _aliasLength += run.Length;
    }

    private void StoreDomain(ReadOnlySpan<byte> run)
    {
        run = run[..Math.Min(run.Length, MaxStoredDomain - _domainLength)];
        run.CopyTo(_domain.AsSpan(_domainLength));
        _domainLength += run.Length;
    }

    private void DropPending()
    {
        _aliasLength = 0;
        _domainLength = 0;
        _afterBackslash = false;
        _afterNonAscii = false;
        _inDomain = false;
    }

    /// <param name="rest">The text after the domain in this chunk; empty at the end of the text.</param>
    private void Decide(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain, bool afterNonAscii, ReadOnlySpan<byte> rest)
    {
        if (alias.Length > MaxStoredAlias)
            alias = alias[..MaxStoredAlias];
        if (domain.Length > MaxStoredDomain)
            domain = domain[..MaxStoredDomain];
        var lowerAlias = _lower.AsSpan(0, alias.Length);
        var lowerDomain = _lower.AsSpan(alias.Length, domain.Length);
        Ascii.ToLower(alias, lowerAlias, out _);
        Ascii.ToLower(domain, lowerDomain, out _);
        if (AccountRules.Check(lowerAlias, lowerDomain) is not { } broken)
            sink.Add(_lower.AsSpan(0, alias.Length + domain.Length), alias.Length);
        else if (afterNonAscii && broken == AccountRule.AliasPeriod && alias[0] == '.')
            counts.ByRule[(int)AccountRule.NonAscii]++;
        else if (!FollowAfter(domain, broken, rest))
            counts.ByRule[(int)broken]++;
    }

    /// <summary>Follows a domain whose run ends at a byte outside ASCII. Returns whether it does.</summary>
    /// <param name="domain">The run; a run that was cut is too long for a domain.</param>
    /// <param name="otherwise">Rule to count if the whole isn't a domain. Null for none.</param>
    private bool FollowAfter(ReadOnlySpan<byte> domain, AccountRule? otherwise, ReadOnlySpan<byte> rest)
    {
        if (rest.IsEmpty || rest[0] < FirstNonAscii || domain.Length > AccountRules.MaxDomainLength)
            return false;
        var part = domain.IsEmpty ? DomainPart.Nothing
            : domain[^1] != '.' ? DomainPart.Label
            : domain.Length > 1 && domain[^2] != '.' ? DomainPart.LabelAndPeriod : DomainPart.Nothing;
        Follow(part, otherwise, rest);
        return true;
    }

    private void Follow(DomainPart part, AccountRule? otherwise, ReadOnlySpan<byte> text)
    {
        (_following, _otherwise) = (part, otherwise);
        Follow(text);
    }

    private void Follow(ReadOnlySpan<byte> text)
    {
        foreach (var next in text)
        {
            if (next == '.')
            {
                _following = _following == DomainPart.Label ? DomainPart.LabelAndPeriod : DomainPart.Nothing;
            }
            else if (next < FirstNonAscii && !AccountRules.DomainBytes.Contains(next))
            {
                EndFollowing(_otherwise);
                return;
            }
            else if (_following == DomainPart.LabelAndPeriod)
            {
                EndFollowing(AccountRule.NonAscii);
                return;
            }
            else
            {
                _following = DomainPart.Label;
            }
        }
    }

    private void EndFollowing(AccountRule? counted)
    {
        if (counted is { } rule)
            counts.ByRule[(int)rule]++;
        (_following, _otherwise) = (DomainPart.None, null);
    }
}

internal interface IAccountSink
{
    /// <summary>Adds an account that passes every rule, in lower-case ASCII.</summary>
    /// <param name="account">Alias and domain without a separator; valid only during the call.</param>
    void Add(ReadOnlySpan<byte> account, int aliasLength);
}
