using HibpIngest.Passwords.Appends;
using HibpIngest.Passwords.Ranges;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Testing;

/// <summary>Appends to a release through the real senders, queues and functions, and computes the expected result by itself.</summary>
internal sealed class AppendRig
{
    private static readonly TimeSpan Visibility = TimeSpan.FromMinutes(5);

    private readonly PasswordRig _rig;
    private readonly Dictionary<(HashMode Mode, string Hash), long> _counts = [];

    private readonly IReadOnlyList<HashMode> _modes;

    private AppendRig(PasswordRig rig, IReadOnlyList<HashMode> modes) => (_rig, _modes) = (rig, modes);

    /// <summary>Imports lines in both modes, and serves them from packs.</summary>
    /// <param name="lines">SHA-1 lines; the NTLM lines are the same without 8 of their digits.</param>
    public static async Task<AppendRig> StartAsync(
        PasswordRig rig, IReadOnlyList<string> lines, IReadOnlyList<HashMode>? modes = null)
    {
        var rows = new AppendRig(rig, modes ?? HashModes.All);
        foreach (var mode in rows._modes)
        {
            var ofMode = (mode == HashMode.Sha1 ? lines : Ntlm(lines)).ToList();
            await rig.ImportAsync(ofMode, mode, "one", [PasswordBackend.Pack]);
            foreach (var line in ofMode)
                rows.Count(mode, line.Split(':')[0], long.Parse(line.Split(':')[1], System.Globalization.CultureInfo.InvariantCulture));
        }
        await rig.Releases.SwitchAsync(PasswordBackend.Pack, "one", CancellationToken.None);
        await rig.Appends.CreateAsync(CancellationToken.None);
        await rig.AppendQueue.CreateAsync(CancellationToken.None);
        return rows;
    }

    public static Random NewRandom(ITestOutputHelper output)
    {
        var seed = Random.Shared.Next();
        output.WriteLine($"seed {seed}");
        return new Random(seed);
    }

    /// <summary>Returns SHA-1 lines to import, 20 for each range.</summary>
    public static string[] Lines(Random random, params int[] prefixes) =>
        [.. prefixes.SelectMany(prefix => Enumerable.Range(0, 20).Select(
            _ => $"{HashModes.PrefixText(prefix)}{random.GetHexString(35)}:{random.Next(1, 100_000)}"))];

    /// <summary>Returns NTLM lines of the same ranges as SHA-1 lines.</summary>
    public static IEnumerable<string> Ntlm(IEnumerable<string> lines) => lines.Select(line => line[..5] + line[13..]);

    public IEnumerable<string> Expect(HashMode mode, int prefix)
    {
        var text = HashModes.PrefixText(prefix);
        return _counts.Where(one => one.Key.Mode == mode && one.Key.Hash.StartsWith(text, StringComparison.Ordinal))
            .Select(one => $"{one.Key.Hash[HashModes.PrefixDigits..]}:{one.Value}").Order(StringComparer.Ordinal);
    }

    public IEnumerable<(HashMode Mode, int Prefix)> Ranges() =>
        _counts.Keys.Select(one => (one.Mode, Convert.ToInt32(one.Hash[..HashModes.PrefixDigits], 16))).Distinct();

    public AppendPasswords NewHandler(FaultyBlobs? watched = null, TimeProvider? time = null) => new(
        _rig.Stores with { Blobs = watched?.Port ?? _rig.Stores.Blobs }, _rig.Appends, new OneQueue(_rig.AppendQueue),
        time ?? TimeProvider.System, NullLogger<AppendPasswords>.Instance);

    /// <param name="prefixes">The ranges, some of which already hold hashes.</param>
    /// <param name="rows">Rows per mode.</param>
    public async Task<AppendTransaction> SendAsync(Random random, IReadOnlyList<int> prefixes, int rows)
    {
        var (added, id) = (new Dictionary<HashMode, List<HashCount>>(), Guid.Parse(random.GetHexString(32)));
        foreach (var mode in HashModes.All)
        {
            added[mode] = [];
            for (var i = 0; i < rows; i++)
            {
                // Each range gets a row if there are enough. One in three hashes exists already.
                var prefix = i < prefixes.Count ? prefixes[i] : prefixes[random.Next(prefixes.Count)];
                var there = random.Next(3) == 0 ? Expect(mode, prefix).ToList() : [];
                var hash = HashModes.PrefixText(prefix) + (there.Count > 0 ? there[random.Next(there.Count)].Split(':')[0]
                    : random.GetHexString(mode.Digits() - HashModes.PrefixDigits));
                var count = random.Next(1, 1_000_001);
                added[mode].Add(new HashCount(Convert.FromHexString(hash), count));
                Count(mode, hash, count);
            }
            AppendRows.Sort(added[mode]);
        }
        var transaction = new AppendTransaction
        {
            Submitter = "somebody",
            Id = id,
            State = AppendState.Confirmed,
            CreatedAt = TimeProvider.System.GetUtcNow(),
            Sha1Rows = added[HashMode.Sha1].Count,
            NtlmRows = added[HashMode.Ntlm].Count,
        };
        await _rig.Appends.WriteRowsAsync(id, AppendRows.Write(added[HashMode.Sha1], added[HashMode.Ntlm]), CancellationToken.None);
        await _rig.Appends.AddAsync(transaction, CancellationToken.None);
        await _rig.AppendQueue.SendAsync(
            new AppendMessage(transaction.Submitter, id).ToJson(), TimeSpan.Zero, CancellationToken.None);
        return transaction;
    }

    /// <summary>Sends a transaction, and processes messages until none is left.</summary>
    public async Task<AppendTransaction> AppendAsync(Random random, IReadOnlyList<int> prefixes, int rows)
    {
        var transaction = await SendAsync(random, prefixes, rows);
        await WorkAsync();
        return transaction;
    }

    public async Task<IReadOnlyList<string>> ClaimAsync()
    {
        var bodies = new List<string>();
        while (await _rig.AppendQueue.ReceiveAsync(32, Visibility, CancellationToken.None) is { Count: > 0 } received)
        {
            foreach (var message in received)
            {
                bodies.Add(message.Body);
                await _rig.AppendQueue.DeleteAsync(message, CancellationToken.None);
            }
        }
        return bodies;
    }

    public Task WorkAsync(TimeProvider? time = null) => WorkAsync(NewHandler(time: time));

    public async Task WorkAsync(AppendPasswords handler)
    {
        while (await ClaimAsync() is { Count: > 0 } bodies)
        {
            foreach (var body in bodies)
                await handler.RunAsync(body, CancellationToken.None);
        }
    }

    public async Task<AppendTransaction?> FindAsync(AppendTransaction transaction) =>
        await _rig.Appends.FindAsync(transaction.Submitter, transaction.Id, CancellationToken.None);

    /// <summary>
    /// Asserts that each range of the imported modes, as a server returns it, has the imported rows and those of each transaction once.
    /// An empty range must be empty.
    /// </summary>
    /// <param name="stores">Null: those that were appended to.</param>
    public async Task AssertServedAsync(PasswordStores? stores = null)
    {
        const int Empty = 0x00002;
        using var ranges = (stores ?? _rig.Stores).OpenRanges();
        foreach (var (mode, prefix) in Ranges().Append((HashMode.Sha1, Empty)).Distinct().Where(one => _modes.Contains(one.Item1)))
        {
            var expected = Expect(mode, prefix).DefaultIfEmpty(Encoding.ASCII.GetString(RangeText.OfNothing(mode).Span));
            Assert.Equal((mode, prefix, string.Join("\r\n", expected)), (mode, prefix, await ranges.ReadTextAsync(mode, prefix)));
        }
    }

    private void Count(HashMode mode, string hash, long count) =>
        _counts[(mode, hash)] = HashCount.AddSaturating(_counts.GetValueOrDefault((mode, hash)), count);
}
