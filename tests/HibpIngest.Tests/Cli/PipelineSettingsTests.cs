using System.Collections;
using HibpIngest.Api.Callers;
using HibpIngest.Api.Endpoints;
using HibpIngest.Api.Settings;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Sql;

namespace HibpIngest.Tests.Cli;

public sealed class PipelineSettingsTests
{
    [Fact]
    public void Defaults_apply_without_any_variable()
    {
        var settings = Read();
        Assert.Equal(
            ("UseDevelopmentStorage=true", Path.Combine(settings.Home, "hibp.db"), $"pickup:{Path.Combine(settings.Home, "mail")}", null),
            (settings.Storage, settings.Database, settings.Mail, settings.SecretKey));
        Assert.Equal((20_000, NotifyMode.Send), (settings.Get<IngestOptions>().BatchRows, settings.Get<MailOptions>().Notify));
        Assert.Empty(settings.UnknownVariables);
    }

    [Fact]
    public void Variables_set_every_kind_of_option()
    {
        var settings = Read(
            ("HIBP_STORAGE", "account"), ("HIBP_DATABASE", "file.db"), ("HIBP_MAIL", "pickup:out"), ("HIBP_MAIL_FROM", "a@b.org"),
            ("HIBP_SECRET_KEY", "key"),
            ("HIBP_BATCHROWS", "30000"), ("HIBP_MAILSPERSECOND", "2.5"), ("HIBP_TIMEBUDGET", "00:04:00"),
            ("HIBP_LIMITS__MAXENTRIES", "12"), ("HIBP_LIMITS__MAXINFLATEDBYTES", "99999999999"),
            ("HIBP_NOTIFY", "hold"), ("HIBP_SLICEROWS", ""), ("HIBP_MAILPERSECOND", "3"), ("PATH", "x"));
        Assert.Equal(("account", "file.db", "pickup:out", "key"), (settings.Storage, settings.Database, settings.Mail, settings.SecretKey));
        var (ingest, mail) = (settings.Get<IngestOptions>(), settings.Get<MailOptions>());
        Assert.Equal(("a@b.org", 2.5, NotifyMode.Hold), (mail.MailFrom, mail.MailsPerSecond, mail.Notify));
        Assert.Equal((30_000, 10_000, TimeSpan.FromMinutes(4)), (ingest.BatchRows, ingest.SliceRows, ingest.TimeBudget));
        Assert.Equal(
            (12, 99_999_999_999L, 200), (ingest.Limits.MaxEntries, ingest.Limits.MaxInflatedBytes, ingest.Limits.MaxInflationRatio));
        Assert.Equal(["HIBP_MAILPERSECOND"], settings.UnknownVariables);
    }

    [Fact]
    public void Unknown_variable_is_reported_with_a_suggestion()
    {
        var settings = Read(("HIBP_MAILPERSECOND", "3"), ("HIBP_STORGE", "x"), ("HIBP_ZEBRA", "y"), ("HIBP_STORAGE_2", "two"));
        Assert.Equal(
            [
                "HIBP_MAILPERSECOND is not a setting; did you mean HIBP_MAILSPERSECOND?",
                "HIBP_STORGE is not a setting; did you mean HIBP_STORAGE?",
                "HIBP_ZEBRA is not a setting; docs/settings.md lists all settings",
            ],
            settings.DescribeUnknown());
    }

    [Fact]
    public void Local_files_are_in_the_home_folder()
    {
        // The tests run in the repository.
        Assert.Equal(Path.Combine(DocumentFiles.Root, ".hibp"), Read().Home);
        var settings = Read(("HIBP_HOME", "/srv/hibp"));
        Assert.Equal(
            ("/srv/hibp", "/srv/hibp/hibp.db", "/srv/hibp/hibp.db", "pickup:/srv/hibp/mail", "/srv/hibp/azurite-2"),
            (settings.Home, settings.Database, settings.DefaultDatabase, settings.Mail, settings.Emulator!.DataFolderOf(2)));
        // A path below the current folder is shown as a relative one.
        Assert.Equal(Path.Combine("here", "data"), Read(("HIBP_HOME", "here/data")).Home);
        Assert.Equal("own.db", Read(("HIBP_HOME", "/srv/hibp"), ("HIBP_DATABASE", "own.db")).Database);
    }

    [Fact]
    public void Emulator_uses_the_configured_port()
    {
        var usual = Read();
        Assert.True(usual.Emulator!.IsAtWellKnownPorts);
        Assert.Null(Read(("HIBP_STORAGE", "account"), ("HIBP_EMULATOR_PORT", "12000")).Emulator);
        var moved = Read(("HIBP_EMULATOR_PORT", "12000"));
        Assert.False(moved.Emulator!.IsAtWellKnownPorts);
        foreach (var (service, port) in (ReadOnlySpan<(string, int)>)[("Blob", 12000), ("Queue", 12001), ("Table", 12002)])
            Assert.Contains($"{service}Endpoint=http://127.0.0.1:{port}/", moved.Storage, StringComparison.Ordinal);
        var overridden = PipelineSettings.Read(null, null, new Hashtable { ["HIBP_EMULATOR_PORT"] = "12000" }, emulatorPort: 13000);
        Assert.Contains("BlobEndpoint=http://127.0.0.1:13000/", overridden.Storage, StringComparison.Ordinal);
        foreach (var wrong in (string[])["0", "65001", "many", "-1"])
        {
            var refused = Assert.Throws<WrongSettingsException>(() => Read(("HIBP_EMULATOR_PORT", wrong)));
            Assert.Contains("HIBP_EMULATOR_PORT: expected a port from 1 to 65000", refused.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Former_names_are_accepted_and_reported()
    {
        var former = Read(("HIBP_LOG", "off"), ("HIBP_LOG_STORAGE", "logs"));
        Assert.Equal((JournalMode.Off, "logs"), (former.Get<JournalOptions>().Mode, former.JournalStorage));
        Assert.Equal(
            ["HIBP_LOG is now called HIBP_JOURNAL", "HIBP_LOG_STORAGE is now called HIBP_JOURNAL_STORAGE"], former.DescribeUnknown());
        var both = Read(("HIBP_JOURNAL", "on"), ("HIBP_LOG", "off"), ("HIBP_JOURNAL_STORAGE", "journal"), ("HIBP_LOG_STORAGE", "logs"));
        Assert.Equal((JournalMode.On, "journal"), (both.Get<JournalOptions>().Mode, both.JournalStorage));
        Assert.Equal(former.DescribeUnknown(), both.DescribeUnknown());
        Assert.Empty(Read(("HIBP_JOURNAL", "off"), ("HIBP_JOURNAL_STORAGE", "logs")).DescribeUnknown());
        var wrong = Assert.Throws<WrongSettingsException>(() => Read(("HIBP_LOG", "maybe")));
        Assert.Equal("HIBP_JOURNAL: expected on or off, found 'maybe'", wrong.Message);
    }

    [Fact]
    public void Further_storage_accounts_are_ordered_and_a_gap_is_refused()
    {
        Assert.Empty(Read().AdditionalStorage);
        var settings = Read(("HIBP_STORAGE", "one"), ("HIBP_STORAGE_3", "three"), ("HIBP_STORAGE_2", "two"), ("HIBP_STORAGE_33", "much"));
        Assert.Equal(["two", "three"], settings.AdditionalStorage);
        Assert.Equal(["HIBP_STORAGE_33"], settings.UnknownVariables);
        Assert.DoesNotContain("three", settings.Describe(), StringComparison.Ordinal);
        var missing = Assert.Throws<WrongSettingsException>(() => Read(("HIBP_STORAGE_2", "two"), ("HIBP_STORAGE_4", "four")));
        Assert.Contains("HIBP_STORAGE_3 is expected if HIBP_STORAGE_4 is set", missing.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Replica_connections_are_split_on_white_space_and_not_described()
    {
        var settings = Read(
            ("HIBP_PASSWORDS_REPLICAS", " west\n  AccountName=east;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net\t "),
            ("HIBP_PASSWORDS_NEAREST", "AccountName=east;AccountKey=c2VjcmV0"), ("HIBP_PASSWORDS_NEAREST_TIMEOUT", "00:00:00.25"));
        Assert.Equal(
            ["west", "AccountName=east;AccountKey=c2VjcmV0;EndpointSuffix=core.windows.net"],
            settings.Get<PasswordOptions>().ReplicaConnections());
        Assert.Equal(TimeSpan.FromMilliseconds(250), settings.Get<PasswordOptions>().PasswordsNearestTimeout);
        Assert.Empty(settings.UnknownVariables);
        Assert.DoesNotContain("c2VjcmV0", settings.Describe(), StringComparison.Ordinal);
        var unset = Read().Get<PasswordOptions>();
        Assert.Equal((0, TimeSpan.FromSeconds(1)), (unset.ReplicaConnections().Count, unset.PasswordsNearestTimeout));
        Assert.Throws<WrongSettingsException>(() => Read(("HIBP_PASSWORDS_NEAREST_TIMEOUT", "1")));
        Assert.Throws<WrongSettingsException>(() => Read(("HIBP_PASSWORDS_NEAREST_TIMEOUT", "00:00:00")));
    }

    [Theory]
    [InlineData("on", true)]
    [InlineData("True", true)]
    [InlineData("OFF", false)]
    [InlineData("false", false)]
    public void Switches_accept_on_off_true_and_false(string value, bool isOn)
    {
        var settings = Read(
            ("HIBP_CALLLOOPBACK", value), ("HIBP_TESTACCOUNTS", value), ("HIBP_JOURNAL", value), ("HIBP_RANGES", value),
            ("HIBP_ACCESSLOG", value));
        Assert.Equal(
            (isOn, isOn, isOn, isOn, isOn),
            (settings.Get<CallbackOptions>().CallLoopback, settings.Get<WebOptions>().TestAccounts,
                settings.Get<JournalOptions>().Mode == JournalMode.On, settings.Get<UpsertOptions>().Ranges == RangesMode.On,
                settings.Get<WebOptions>().AccessLog));
        var refused = Assert.Throws<WrongSettingsException>(() => Read(("HIBP_CALLLOOPBACK", "yes")));
        Assert.Contains("HIBP_CALLLOOPBACK: expected on or off, found 'yes'", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Command_line_overrides_variables()
    {
        var settings = PipelineSettings.Read(
            "mine", "mine.db", new Dictionary<string, string> { ["HIBP_STORAGE"] = "theirs", ["HIBP_DATABASE"] = "theirs.db" });
        Assert.Equal(("mine", "mine.db"), (settings.Storage, settings.Database));
    }

    [Theory]
    [InlineData("HIBP_BATCHROWS", "0", "HIBP_BATCHROWS: expected 1 to 1000000, found 0")]
    [InlineData("HIBP_BATCHROWS", "1.5", "HIBP_BATCHROWS: expected a whole number, found '1.5'")]
    [InlineData("HIBP_MAILSPERSECOND", "fast", "HIBP_MAILSPERSECOND: expected a number, found 'fast'")]
    [InlineData("HIBP_TIMEBUDGET", "5", "HIBP_TIMEBUDGET: expected a duration as hh:mm:ss, found '5'")]
    [InlineData("HIBP_NOTIFY", "later", "HIBP_NOTIFY: expected send or hold, found 'later'")]
    [InlineData("HIBP_NOTIFY", "1", "HIBP_NOTIFY: expected send or hold, found '1'")]
    [InlineData("HIBP_LOADLEASE", "-00:00:05", "HIBP_LOADLEASE: expected 00:00:01 to 7.00:00:00, found -00:00:05")]
    [InlineData("HIBP_LIMITS__MAXENTRIES", "-1", "HIBP_LIMITS__MAXENTRIES: expected 1 to 2147483647, found -1")]
    public void Invalid_value_is_refused_by_its_variable_name(string variable, string value, string message) =>
        Assert.Equal(message, Assert.Throws<WrongSettingsException>(() => Read((variable, value))).Message);

    [Fact]
    public void Description_contains_no_secret_and_no_address()
    {
        var text =
            Read(("HIBP_STORAGE", "topsecret1"), ("HIBP_MAIL", "smtp://u:topsecret2@h"), ("HIBP_SECRET_KEY", "topsecret3"),
                ("HIBP_MAIL_FROM", "a@b.org"), ("HIBP_BATCHROWS", "123")).Describe();
        Assert.Contains("HIBP_BATCHROWS=123", text, StringComparison.Ordinal);
        Assert.Contains("HIBP_LIMITS__MAXNESTING=3", text, StringComparison.Ordinal);
        Assert.DoesNotContain("topsecret", text, StringComparison.Ordinal);
        Assert.DoesNotContain("@", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Server=tcp:x.database.windows.net;Database=hibp", "tcp:x.database.windows.net/hibp")]
    [InlineData("Addr=x; Initial Catalog=hibp;User ID=u;Password=topsecret", "x/hibp")]
    [InlineData("Data Source=x;Database=hibp;User ID=u;Password=topsecret", "x/hibp")]
    [InlineData("Data Source=FILE", "FILE")]
    [InlineData("FILE", "FILE")]
    public async Task Database_setting_distinguishes_a_server_from_a_file(string database, string shown)
    {
        using var folder = new TemporaryFolder();
        string InFolder(string text) => text.Replace("FILE", Path.Combine(folder.Path, "hibp.db"), StringComparison.Ordinal);
        await using var opened = DatabaseServices.Open(InFolder(database), TimeProvider.System, NullLoggerFactory.Instance);
        Assert.Equal(InFolder(shown), opened.DisplayName);
    }

    private static PipelineSettings Read(params (string Name, string Value)[] variables) =>
        PipelineSettings.Read(null, null, variables.ToDictionary(variable => variable.Name, variable => variable.Value));
}
