namespace HibpIngest.Testing;

/// <summary>Made-up Pwned Passwords: one password within its range, one first, one last, one missing, one with an empty range.</summary>
internal sealed class ClientCorpus
{
    /// <summary>Half of a real range's rows, and more than fits into one packet.</summary>
    private const int RowsInRange = 900;

    private const int PrefixDigits = 5;

    private readonly Dictionary<HashMode, SortedDictionary<string, string[]>> _ranges = [];

    /// <param name="seed">Seed of all hashes except those of <see cref="Passwords"/>.</param>
    public ClientCorpus(int seed)
    {
        var random = new Random(seed);
        foreach (var mode in Enum.GetValues<HashMode>())
        {
            _ranges[mode] = new SortedDictionary<string, string[]>(
                Passwords.ToDictionary(password => password.Hash(mode)[..PrefixDigits], password => Rows(password, mode, random)),
                StringComparer.Ordinal);
        }
    }

    /// <summary>The hashes are constants, so that neither our code nor a client's computes them.</summary>
    public static IReadOnlyList<ClientPassword> Passwords { get; } =
    [
        new("password", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8", "8846F7EAEE8FB117AD06BDD830B7586C", 52_256_179, RangePlace.Within),
        new("123456", "7C4A8D09CA3762AF61E59520943DC26494F8941B", "32ED87BDB5FDC5E9CBA88547376818D4", 1, RangePlace.First),
        new("qwerty", "B1B3773A05C0ED0176787A4F1574FF0075F7521E", "2D20D252A479F485CDF5E171D93985BF", 7, RangePlace.Last),
        new("letmein", "B7A875FC1EA228B9061041B7CEC4BD3C52AB3CE3", "BECEDB42EC3C5C7F965255338BE4453C", 0, RangePlace.Within),
        new("monkey", "AB87D24BDC7452E55738DEB5F868E1F16DEA5ACE", "F2477A144DFF4F216AB81F2AC3E3207D", 0, RangePlace.EmptyRange),
    ];

    /// <summary>Rows <c>SUFFIX:COUNT</c> by prefix, in order; the empty range has none.</summary>
    public IReadOnlyDictionary<string, string[]> Ranges(HashMode mode) => _ranges[mode];

    /// <summary>Lines <c>HASH:COUNT</c> in order, as they are imported and exported.</summary>
    public IEnumerable<string> Lines(HashMode mode) => _ranges[mode].SelectMany(range => range.Value, (range, row) => range.Key + row);

    /// <summary>Returns the response body for a prefix, uncompressed and without padding.</summary>
    public string Body(HashMode mode, string prefix)
    {
        var rows = Ranges(mode).GetValueOrDefault(prefix, []);
        var digits = Passwords[0].Hash(mode).Length - PrefixDigits;
        return rows.Length == 0 ? $"{new string('0', digits)}:0" : string.Join("\r\n", rows);
    }

    private static string[] Rows(ClientPassword password, HashMode mode, Random random)
    {
        if (password.Place == RangePlace.EmptyRange)
            return [];
        var hash = password.Hash(mode)[PrefixDigits..];
        var rows = new SortedDictionary<string, long>(StringComparer.Ordinal);
        while (rows.Count < RowsInRange)
        {
            var other = random.GetHexString(hash.Length);
            var order = string.CompareOrdinal(other, hash);
            if (password.Place == RangePlace.First ? order > 0 : password.Place == RangePlace.Last ? order < 0 : order != 0)
                rows[other] = random.Next(1, 1_000_000);
        }
        if (password.Count > 0)
            rows.Add(hash, password.Count);
        return [.. rows.Select(row => string.Create(CultureInfo.InvariantCulture, $"{row.Key}:{row.Value}"))];
    }
}

internal enum RangePlace
{
    Within,
    First,
    Last,

    /// <summary>The range has no row.</summary>
    EmptyRange,
}

/// <summary>A password and its count in the corpus; 0: not in it.</summary>
internal sealed record ClientPassword(string Password, string Sha1, string Ntlm, long Count, RangePlace Place)
{
    public string Hash(HashMode mode) => mode == HashMode.Ntlm ? Ntlm : Sha1;
}
