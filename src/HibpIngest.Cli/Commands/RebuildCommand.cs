using System.Globalization;
using HibpIngest.Journal.Merge;
using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Commands;

internal sealed class RebuildCommand : HibpCommand
{
    private const int LeastMemory = 16;
    private const int MaxMemory = 1024;

    private readonly Option<string> _into = new("--into")
    {
        Description = "The layout: a new name adds one, with tables accountsNAME and rangesNAME; one that is there gets what it lacks.",
        HelpName = "NAME",
        Required = true,
    };

    private readonly Option<string[]> _spread = new("--spread")
    {
        Description = "A domain that lies in so many partitions, 2 to 256, for it would be too hot for one (2,000 entities a second); "
            + "may be given several times.",
        HelpName = "DOMAIN=M",
        DefaultValueFactory = _ => [],
    };

    private readonly Option<string?> _ranges = new("--ranges")
    {
        Description = "on or off: whether hashes are written too. [default: as in the layout that is read]",
        HelpName = "on|off",
    };

    private readonly Option<string?> _accounts = new("--accounts")
    {
        Description = "Numbers of the storage accounts, in order: 1,2,3,4. [default: those of the layout that is read]",
        HelpName = "LIST",
    };

    private readonly Option<int> _memory = new("--memory")
    {
        Description = $"MiB that the accounts which are brought together at once may take, {LeastMemory} to {MaxMemory}.",
        HelpName = "MiB",
        DefaultValueFactory = _ => (int)(MergeAccounts.DefaultMemoryBytes >> 20),
    };

    private readonly Option<string?> _temp = new("--temp")
    {
        Description = "Folder for rows that are being sorted, some 21 bytes each; they have no name there. [default: the system's]",
        HelpName = "DIR",
    };

    public RebuildCommand()
        : base(
            "rebuild",
            "Write all accounts into a layout of the tables, beside running hosts: each once with all its breaches, from the account log, "
            + "and from SQL's rows where that lacks a load. Broken off, it is run again and goes on where it was. Then: hibp switch.")
    {
        foreach (var option in (Option[])[_into, _spread, _ranges, _accounts, _memory, _temp])
            Add(option);
        Examples =
        [
            ("hibp rebuild --into spread --spread gmail.com=32 --accounts 1,2,3,4", "over four storage accounts (HIBP_STORAGE_2.._4), "
                + "gmail.com in 32 partitions"),
            ("hibp rebuild --into spread", "again, after it was broken off"),
            ("hibp rebuild --into plain --ranges off", "without the table of hashes, in half the time"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var order = Read(session.Parsed);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var began = session.Time.GetTimestamp();
        var result = await RebuildAsync(session, services.GetRequiredService<RebuildLayout>(), order, cancellationToken);
        var took = session.Time.GetElapsedTime(began);
        session.Screen.ShowResult(
            RebuildDocument.Of(result, took), Documents.Default.RebuildDocument,
            result.Loads == 0 ? $"Layout {result.Layout.Name} lacks nothing; there was nothing to write."
            : $"Layout {result.Layout.Name} lacks nothing: {TableFormat.Number(result.Rows)} rows of {result.Loads} loads, "
            + $"{TableFormat.Number(result.Accounts)} accounts written by {TableFormat.Number(result.Transactions)} requests in "
            + $"{TableFormat.Duration(took)} ({TableFormat.Number((long)(result.Accounts / took.TotalSeconds))} a second). "
            + $"'hibp switch {result.Layout.Name}' has it read.");
        return 0;
    }

    /// <summary>Rebuilds a layout. If the run is interrupted, for any reason, the message says how to resume it.</summary>
    private static async Task<RebuildResult> RebuildAsync(
        CommandSession session, RebuildLayout rebuild, RebuildOrder order, CancellationToken cancellationToken)
    {
        var begun = false;
        try
        {
            return await RebuildView.ShowAsync(
                session.Screen, session.Time, progress => rebuild.RunAsync(order, progress, cancellationToken), () => begun = true);
        }
        catch (Exception) when (begun)
        {
            session.Screen.Say($"The rebuild was interrupted: loads write layout {order.Name} from now on, and 'hibp rebuild --into "
                + $"{order.Name}' resumes it.");
            throw;
        }
    }

    private RebuildOrder Read(ParseResult parsed)
    {
        var memory = parsed.GetValue(_memory);
        if (memory is < LeastMemory or > MaxMemory)
            throw new WrongUsageException($"--memory is expected to be {LeastMemory} to {MaxMemory} (MiB), found {memory}");
        return new RebuildOrder(parsed.GetRequiredValue(_into))
        {
            StorageAccounts = parsed.GetValue(_accounts) is { } list ? ReadAccounts(list) : null,
            SpreadDomains = parsed.GetResult(_spread) is { Implicit: false } ? ReadSpread(parsed.GetValue(_spread)!) : null,
            Ranges = parsed.GetValue(_ranges) switch
            {
                null => null,
                "on" => true,
                "off" => false,
                var other => throw new WrongUsageException($"--ranges is expected to be on or off, found '{other}'"),
            },
            MemoryBytes = (long)memory << 20,
            Folder = parsed.GetValue(_temp) ?? Path.GetTempPath(),
        };
    }

    private static List<int> ReadAccounts(string list)
    {
        var accounts = new List<int>();
        foreach (var number in list.Split(',', StringSplitOptions.TrimEntries))
        {
            accounts.Add(int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out var account) ? account
                : throw new WrongUsageException($"--accounts is expected to be numbers of storage accounts, as in 1,2,3, found '{list}'"));
        }
        return accounts;
    }

    private static Dictionary<string, int> ReadSpread(string[] spread)
    {
        var domains = new Dictionary<string, int>();
        foreach (var one in spread)
        {
            var at = one.LastIndexOf('=');
            if (!one.AsSpan(0, Math.Max(at, 0)).Contains('.')
                || !int.TryParse(one.AsSpan(at + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var partitions)
                || !domains.TryAdd(one[..at].ToLowerInvariant(), partitions))
            {
                throw new WrongUsageException(
                    $"--spread is expected to be a domain and its partitions, each domain once, as in gmail.com=32, found '{one}'");
            }
        }
        return domains;
    }
}
