using HibpIngest.Api.Lookup;
using HibpIngest.Journal.Manifest;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>
/// Interrupts an operator's step at any call to a store, then restores the database: from a backup taken before the
/// load, before the step or after it, or without any. All readers are compared with a model that knows only the
/// commands and what readers saw: nothing that was ever hidden, sensitive or removed may be visible again.
/// </summary>
public sealed class RestoreCampaignTests(ITestOutputHelper output)
{
    private const int Rows = 6;

    /// <summary>Rounds share stores, so that leftovers of earlier rounds are tested too; more rounds make each restore slower.</summary>
    private const int RoundsOnStores = 10;

    private static readonly bool IsLong = Environment.GetEnvironmentVariable("HIBP_TEST_CALLS") == "all";
    private static readonly SuppressionKey Key = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;

    public enum Step
    {
        Hide,
        Set,
        Assign,
        Remove,
        Publish,
        Replace,
        Import,
        Unsubscribe,
    }

    private enum Backup
    {
        BeforeLoad,
        BeforeStep,
        AfterStep,
        None,
    }

    [Theory]
    [InlineData(Step.Hide, 20)]
    [InlineData(Step.Set, 20)]
    [InlineData(Step.Assign, 25)]
    [InlineData(Step.Remove, 40)]
    [InlineData(Step.Publish, 60)]
    [InlineData(Step.Replace, 60)]
    [InlineData(Step.Import, 4)]
    [InlineData(Step.Unsubscribe, 6)]
    public async Task Restore_reveals_nothing_that_was_hidden_or_removed_before_it(Step step, int oneOf)
    {
        var draw = new CallDraw(oneOf, output.WriteLine);
        var kinds = Enum.GetValues<Backup>();
        var next = draw.IsAfterwards() ? 0 : 2;
        World? world = null;
        try
        {
            for (var (at, isThrough) = (int.MaxValue, false); !isThrough; at = draw.Next())
            {
                var isAfterwards = draw.IsAfterwards();
                foreach (var kind in IsLong ? kinds : [kinds[next++ % kinds.Length]])
                {
                    if (world is { Rounds: RoundsOnStores })
                    {
                        await world.DisposeAsync();
                        world = null;
                    }
                    world ??= await World.StartAsync();
                    var point = new CrashPoint(at, isAfterwards);
                    await world.PlayAsync(step, kind, point);
                    output.WriteLine($"{step}, {kind}: {point.Calls} calls, {(point.Crashed ? point.Where : "to the end")}");
                    isThrough = at < int.MaxValue && !point.Crashed;
                }
            }
        }
        finally
        {
            if (world is not null)
                await world.DisposeAsync();
        }
    }

    /// <summary>Stores, and the model of what may be visible.</summary>
    private sealed class World(PipelineRig rig, TestClock clock) : IAsyncDisposable
    {
        private readonly List<(string Name, string Account)> _targets = [];
        private readonly HashSet<string> _withdrawn = [];
        private readonly HashSet<string> _sensitive = [];
        private readonly HashSet<string> _unsubscribed = [];
        private HashSet<string> _public = [];
        private PipelineParts _host = null!;
        private string _where = "";

        public int Rounds { get; private set; }

        public static async Task<World> StartAsync()
        {
            var clock = new TestClock();
            var rig = await PipelineRig.StartAsync(
                options => (options.Ingest.BatchRows, options.Ingest.SliceRows, options.Upsert.TransactionsInFlight,
                    options.Journal.SegmentBatches, options.Journal.Mode, options.Upsert.Ranges)
                    = (100, 50, 1, 1, JournalMode.On, RangesMode.On),
                clock);
            var world = new World(rig, clock);
            world._host = world.Open();
            await world.LoadAsync("Open", 0);
            await world.LoadAsync("Shy", 10);
            await world._host.Get<BreachOperations>().SetHiddenAsync("Shy", true, None);
            world._targets.AddRange([("Open", AccountAt(0)), ("Shy", AccountAt(10))]);
            world._withdrawn.Add("Shy");
            world._public = ["Open"];
            return world;
        }

        public async Task PlayAsync(Step step, Backup kind, CrashPoint point)
        {
            var (name, first) = ($"T{++Rounds}", 100 * Rounds);
            _where = $"{step} of {name}, {kind}, call {point.Calls}";
            var backups = new Dictionary<Backup, string> { [Backup.BeforeLoad] = await rig.BackUpAsync($"{Rounds}-a") };
            await _host.Database.ImportSubscribersAsync([new(AccountAt(first), null)], Key, None);
            if (step != Step.Publish)
                await LoadAsync(name, first);
            _targets.Add((name, AccountAt(first)));
            backups[Backup.BeforeStep] = await rig.BackUpAsync($"{Rounds}-b");
            await DoAsync(step, name, first, point);
            _where = $"{step} of {name}, {kind}, call {point.Calls} {point.Where}";
            clock.Advance(TimeSpan.FromHours(1)); // leases of the crashed process have expired
            await LearnAsync(step, name, first, isThrough: !point.Crashed);
            backups[Backup.AfterStep] = await rig.BackUpAsync($"{Rounds}-c");

            if (Directory.Exists(rig.MailFolder))
                Directory.Delete(rig.MailFolder, recursive: true); // mail numbers are reused
            var isNew = await IsNewAsync(name);
            await RestoreAsync(kind == Backup.None ? null : backups[kind]);
            await CheckAsync(name, "restored");
            // A file that was never received is loaded normally.
            var expectedRecipients = isNew ? [_targets.Last(target => target.Name == name).Account] : Array.Empty<string>();
            Assert.True(!rig.Recipients().Except(expectedRecipients).Any(), $"{_where}: mailed without an operator's release");

            // Release everything, as an operator might by mistake.
            foreach (var breach in (await _host.Database.ListLoadsAsync(null, None))
                .Where(load => load.State == LoadState.Held).Select(load => load.Breach).Distinct())
            {
                var refused = await Record.ExceptionAsync(() => _host.Get<MailOperations>().NotifyAsync(breach, None));
                Assert.True(refused is null or NotPossibleException, $"{_where}: {refused}");
            }
            await PipelineRig.RunToEndAsync(_host);
            _public = await CheckAsync(name, "released");
            Assert.True(!rig.Recipients().Intersect(_unsubscribed).Any(), $"{_where}: mailed an unsubscribed address");
            foreach (var backup in backups.Values)
                File.Delete(backup);
        }

        public ValueTask DisposeAsync() => rig.DisposeAsync();

        private async Task DoAsync(Step step, string name, int first, CrashPoint point)
        {
            var dying = point.Wrap(Open());
            if (step is Step.Publish or Step.Replace)
            {
                // The second version of the zip doesn't contain the first account.
                await rig.DropAsync(
                    $"{name}.zip", Zip(step == Step.Publish ? first : first + 1),
                    step == Step.Publish && Rounds % 2 == 1 ? """{"IsSensitive":true}""" : null);
                await CrashPoint.WorkAsync(Open().Queues, dying, () => dying.Get<BlobScan>().RunAsync(TimeSpan.Zero, None));
                return;
            }
            var load = (await _host.Database.ListLoadsAsync(name, None)).Select(one => one.Id).FirstOrDefault();
            var died = await Record.ExceptionAsync(() => step switch
            {
                Step.Hide => dying.Get<BreachOperations>().SetHiddenAsync(name, true, None),
                Step.Set => dying.Get<BreachOperations>().DescribeAsync(name, """{"IsSensitive":true}"""u8.ToArray(), None),
                Step.Assign => dying.Get<AssignLoad>().RunAsync(load, "Shy", None),
                Step.Remove => dying.Get<RemoveBreach>().RunAsync(name, null, None),
                Step.Import => dying.Database.ImportSubscribersAsync([new($"new{Rounds}@example.net", null)], Key, None),
                _ => dying.Get<SubscriberOperations>().RemoveAsync([AccountAt(first)], [], SuppressionReason.Unsubscribed, None),
            });
            Assert.True(died is null or CrashException, $"{_where}: {died}");
        }

        /// <summary>Records what must not be visible from now on: the step is done, or a reader, log or register knows of it.</summary>
        private async Task LearnAsync(Step step, string name, int first, bool isThrough)
        {
            var isShown = (await rig.FindAsync(AccountAt(first))).Any(breach => breach.Name == name);
            switch (step)
            {
                case Step.Hide or Step.Assign when isThrough || !isShown:
                    _withdrawn.Add(name);
                    break;
                case Step.Remove when isThrough || !isShown || await IsRemovedAsync(name):
                    _withdrawn.Add(name);
                    break;
                case Step.Set when isThrough || !isShown:
                case Step.Publish when Rounds % 2 == 1:
                    _sensitive.Add(name);
                    break;
                case Step.Replace when isThrough:
                    Assert.False(isShown, _where);
                    _targets[^1] = (name, AccountAt(first + 1));
                    _targets.Add(($"{name}'s first version", AccountAt(first)));
                    _withdrawn.Add(name + "'s first version");
                    break;
                case Step.Replace:
                    _targets[^1] = (name, AccountAt(first + 1));
                    break;
                case Step.Unsubscribe when isThrough:
                    _unsubscribed.Add(AccountAt(first));
                    break;
            }
        }

        /// <summary>Returns whether the current file was never received.</summary>
        private async Task<bool> IsNewAsync(string name) =>
            await _host.Blobs.FindAsync($"{name}.zip", None) is { } file && !await _host.Register.HasReceiptAsync(file.Version, None);

        private async Task<bool> IsRemovedAsync(string name) =>
            (await JournalManifest.ReadAsync(_host.Log, None)).Loads
                .Any(load => load.Removal?.Loads?.Any(one => one.Blob == $"{name}.zip") == true);

        private async Task RestoreAsync(string? backup)
        {
            await rig.RestoreOrLoseAsync(backup);
            _host = Open();
            try
            {
                var moved = await _host.ReconcileAsync(empty: backup is null);
                Assert.True(moved.Log!.Problems.Count == 0, $"{_where}: {string.Join("; ", moved.Log.Problems)}");
            }
            catch (NotPossibleException e) when (e.Message.Contains("nothing to bring up to date", StringComparison.Ordinal))
            {
                // The backup is current, so there is nothing to reconcile.
            }
            await _host.Get<StoreSetup>().EnsureAsync(None);
            // The operator's file lists everyone; unsubscribed addresses are skipped.
            await _host.Database.ImportSubscribersAsync([.. _targets.Select(one => new Subscription(one.Account, null))], Key, None);
            await PipelineRig.RunToEndAsync(_host);
            clock.Advance(TimeSpan.FromHours(1));
            await _host.SweepToEndAsync();
        }

        /// <summary>Compares every reader with the model; returns what public lookups show.</summary>
        private async Task<HashSet<string>> CheckAsync(string current, string when)
        {
            using var stores = rig.OpenAccount();
            var catalogue = new CatalogueReader(stores.Catalogue, clock, NullLogger<CatalogueReader>.Instance);
            var reads = new LayoutReads(
                stores.Register, stores.StoreAccounts, stores.Tables, clock, NullLogger<LayoutReads>.Instance);
            var (accounts, ranges) = (new BreachedAccounts(catalogue, reads), new BreachedRanges(catalogue, reads));
            var shown = new HashSet<string>();
            foreach (var (target, account) in _targets)
            {
                var (alias, domain) = (account.Split('@')[0], account.Split('@')[1]);
                var hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)));
                string[] byAccount = [.. (await accounts.FindAsync(new Account(alias, domain), None)).Select(one => one.Model.Name)];
                string[] byRange = [.. (await ranges.FindAsync(hash[..BreachedRanges.PrefixDigits], None))
                    .Where(one => one.Suffix == hash[BreachedRanges.PrefixDigits..]).SelectMany(one => one.Breaches)
                    .Select(one => one.Model.Name)];
                Assert.True(byAccount.SequenceEqual(byRange), $"{_where}, {when}: {target} by account and by range");
                // A domain's owner sees sensitive breaches too.
                var byDomain = new List<string>();
                await foreach (var (found, breaches) in accounts.ReadDomainAsync(domain, None))
                    byDomain.AddRange(found == alias ? breaches.Select(one => one.Model.Name) : []);
                Assert.True(
                    !byDomain.Intersect(_withdrawn).Any() && byAccount.All(byDomain.Contains), $"{_where}, {when}: {target} by domain");
                Assert.True(
                    !_withdrawn.Contains(target) || byDomain.Count == 0,
                    $"{_where}, {when}: {target} is shown as {byDomain.FirstOrDefault()}");
                shown.UnionWith(byAccount);
            }
            Assert.True(!shown.Intersect(_withdrawn.Union(_sensitive)).Any(), $"{_where}, {when}: shown: {string.Join(", ", shown)}");
            Assert.True(
                _public.Where(one => one != current).All(shown.Contains), $"{_where}, {when}: lost; shown: {string.Join(", ", shown)}");

            var raw = new RawCatalogue(_host.Catalogue);
            string[] names = [.. (await raw.IdsAsync()).Breaches.Select(breach => breach.Name)];
            await raw.AssertShowsAsync($"{_where}, {when}", names);
            Assert.True(!names.Intersect(_withdrawn).Any(), $"{_where}, {when}: listed: {string.Join(", ", names)}");
            var bare = (await raw.IdsAsync()).Breaches.Where(one => !one.Flags.HasFlag(BreachFlags.Sensitive)).Select(one => one.Name)
                .Concat((await raw.BreachesAsync()).Where(one => !one.IsSensitive).Select(one => one.Name));
            Assert.True(!bare.Intersect(_sensitive).Any(), $"{_where}, {when}: flags");
            Assert.True((await raw.ListAsync(CatalogueDocuments.BeforeRestore)).Count == 0, $"{_where}, {when}: a copy was left");
            foreach (var breach in await _host.Database.ListBreachesAsync(None))
            {
                Assert.True(
                    !breach.IsPublic || !(_withdrawn.Contains(breach.Name) || _sensitive.Contains(breach.Name)),
                    $"{_where}, {when}: {breach.Name} is public in the database");
            }
            var subscribed = await _host.Database.ListSubscribersAsync(None).Select(one => one.Email).ToListAsync();
            Assert.True(!subscribed.Intersect(_unsubscribed).Any(), $"{_where}, {when}: subscribed again");
            return shown;
        }

        private PipelineParts Open() => rig.OpenContext() with { SuppressionKey = Key };

        private async Task LoadAsync(string breach, int first)
        {
            await rig.DropAsync($"{breach}.zip", Zip(first));
            await PipelineRig.RunToEndAsync(_host);
        }

        private static string AccountAt(int number) => PipelineRig.Expected(number, 1).Single();

        private static byte[] Zip(int first) => PipelineRig.Zip(("a.csv", PipelineRig.Accounts(first, Rows)));
    }
}
