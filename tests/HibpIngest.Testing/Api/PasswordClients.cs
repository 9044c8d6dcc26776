using HibpIngest.Cli.Emulator;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Testing;

/// <summary>Published Pwned Passwords clients, from npm and (with apt-get) Debian. Each must report the corpus's counts.</summary>
internal static class PasswordClients
{
    private const string ServiceName = "api.pwnedpasswords.com";

    private static readonly string[] DebianPackages = ["pass", "pass-extension-audit", "gnupg", "keepassxc", "curl"];

    private static readonly Regex PassAuditBreached =
        new(@"Password breached: (?<password>\S+) from \S+ has been breached (?<count>\d+) time", RegexOptions.NonBacktracking);

    private static readonly Regex KeePassXcLeaked =
        new(@"Password for '(?<password>\S+)' has been leaked (?<count>\d+) time", RegexOptions.NonBacktracking);

    /// <summary>Number of call variants in passwords.mjs.</summary>
    private const int NpmCalls = 11;

    /// <summary>The clients available here: <c>npm</c> is five of them, <c>raw</c> a script that checks what clients rely on.</summary>
    public static IReadOnlyList<string> Here { get; } =
        ["npm", "bitwarden", "raw", .. File.Exists("/usr/bin/apt-get") ? (string[])["curl", "pass-audit", "keepassxc"] : []];

    private static string Folder { get; } = Path.GetDirectoryName(RepositoryFile.Path(
        Path.Combine("tests", "HibpIngest.Integration.Tests", "Api", "clients", "passwords.mjs")))!;

    private static string DebianFolder => Path.Combine(Folder, ".hibp", "debian");

    /// <param name="client">One of <see cref="Here"/>.</param>
    /// <param name="server">The root of the server: <c>range/5BAA6</c> is below it.</param>
    /// <param name="isKeptAsGzip">True if the server's back end stores ranges as gzip.</param>
    /// <param name="exportAsync">Writes the server's SHA-1 hashes into that file, for clients that work offline.</param>
    public static Task AssertIsRightAsync(
        string client, Uri server, ClientCorpus corpus, bool isKeptAsGzip, Func<string, Task> exportAsync) =>
        client switch
        {
            "npm" => AssertNpmAsync(server),
            "bitwarden" => AssertBitwardenAsync(server),
            "raw" => AssertRawAsync(server, corpus, isKeptAsGzip),
            "curl" => AssertCurlAsync(server, corpus),
            "pass-audit" => AssertPassAuditAsync(server),
            "keepassxc" => AssertKeePassXcAsync(exportAsync),
            _ => throw new ArgumentOutOfRangeException(nameof(client), client, "no client has this name"),
        };

    private static async Task AssertNpmAsync(Uri server)
    {
        await InstallAsync(Folder, Path.Combine("hibp", "package.json"));
        var results = JsonElement.Parse(await RunAsync(
            "node", ["--require", "./redirect.cjs", "passwords.mjs", server.AbsoluteUri], Asked(ClientCorpus.Passwords),
            ("PASSWORDS_SERVER", server.AbsoluteUri)));
        var calls = results.EnumerateObject().ToList();
        Assert.Equal(NpmCalls, calls.Count);
        Assert.All(calls, call => AssertCounts(ClientCorpus.Passwords, call.Value));
    }

    private static async Task AssertBitwardenAsync(Uri server)
    {
        await InstallAsync(Path.Combine(Folder, "bitwarden"), Path.Combine("@bitwarden", "cli", "package.json"));
        // Each password costs a process of about a second, so only one of each kind is tested.
        var some = ClientCorpus.Passwords.Where(password => password.Place is RangePlace.Within or RangePlace.EmptyRange).ToList();
        AssertCounts(some, JsonElement.Parse(
            await RunAsync("node", ["bitwarden/bitwarden.mjs"], Asked(some), ("PASSWORDS_SERVER", server.AbsoluteUri))));
    }

    private static void AssertCounts(IReadOnlyList<ClientPassword> asked, JsonElement found) =>
        Assert.Equal(
            asked.Select(password => Invariant($$"""{{password.Password}} {"value":{{password.Count}}}""")),
            asked.Select(password => $"{password.Password} {found.GetProperty(password.Password).GetRawText()}"));

    private static async Task AssertRawAsync(Uri server, ClientCorpus corpus, bool isKeptAsGzip)
    {
        var differences = await RunAsync(
            "node", ["ranges.mjs", server.AbsoluteUri, isKeptAsGzip ? "gzip" : "identity"],
            JsonSerializer.Serialize(new { sha1 = corpus.Ranges(HashMode.Sha1), ntlm = corpus.Ranges(HashMode.Ntlm) }));
        Assert.True(differences.Length == 0, differences);
    }

    /// <summary>Gets many ranges with one curl command, as people copy them, and one again that hasn't changed.</summary>
    private static async Task AssertCurlAsync(Uri server, ClientCorpus corpus)
    {
        await UnpackAsync();
        foreach (var (mode, query) in ((HashMode, string)[])[(HashMode.Sha1, ""), (HashMode.Ntlm, "?mode=ntlm")])
        {
            var beginnings = corpus.Ranges(mode).Keys.Select(prefix => prefix[..^1]).ToList();
            var ranges = $"{server}range/{{{string.Join(',', beginnings)}}}{{0,1,2,3,4,5,6,7,8,9,A,B,C,D,E,F}}{query}";
            foreach (var options in (string[][])[[], ["--compressed"], ["--header", "Add-Padding: true"]])
            {
                using var folder = new TemporaryFolder();
                await RunAsync("bash", ["curl.sh", DebianFolder, "--fail", "--parallel", .. options,
                    "--output", Path.Combine(folder.Path, "#1#2"), ranges], "");
                Assert.Equal(beginnings.Count * 16, Directory.GetFiles(folder.Path).Length);
                foreach (var file in Directory.GetFiles(folder.Path))
                {
                    var (found, expected) = (await File.ReadAllTextAsync(file), corpus.Body(mode, Path.GetFileName(file)));
                    Assert.Equal(expected, options is ["--header", ..] ? found[..Math.Min(found.Length, expected.Length)] : found);
                    if (options is ["--header", ..])
                        Assert.All(
                            found[expected.Length..].Split("\r\n")[1..], row => Assert.EndsWith(":0", row, StringComparison.Ordinal));
                }

                if (options is ["--header", ..])
                    continue;
                var (range, etag) = ($"{server}range/{beginnings[0]}0{query}", Path.Combine(folder.Path, "etag"));
                string[] again = [.. options, "--output", Path.Combine(folder.Path, "range"), "--write-out", "%{http_code}", range];
                Assert.Equal("200", await RunAsync("bash", ["curl.sh", DebianFolder, "--etag-save", etag, .. again], ""));
                Assert.Equal("304", await RunAsync("bash", ["curl.sh", DebianFolder, "--etag-compare", etag, .. again], ""));
            }
        }
    }

    private static async Task AssertPassAuditAsync(Uri server)
    {
        await UnpackAsync();
        using var folder = new TemporaryFolder();
        await using var proxy = new TlsProxy(ServiceName, server);
        var said = await RunAsync(
            "bash", ["pass-audit.sh", DebianFolder], Lines, ("HTTPS_PROXY", proxy.Address.AbsoluteUri),
            ("REQUESTS_CA_BUNDLE", folder.Write("proxy.pem", proxy.CertificatePem)));
        AssertSaid(said, PassAuditBreached);
        Assert.Equal(ClientCorpus.Passwords.Count, proxy.Tunnels);
    }

    private static async Task AssertKeePassXcAsync(Func<string, Task> exportAsync)
    {
        await UnpackAsync();
        using var folder = new TemporaryFolder();
        var export = Path.Combine(folder.Path, "sha1.txt");
        await exportAsync(export);
        AssertSaid(await RunAsync("bash", ["keepassxc.sh", DebianFolder, export], Lines), KeePassXcLeaked);
    }

    private static string Asked(IEnumerable<ClientPassword> passwords) => JsonSerializer.Serialize(passwords.Select(
        password => new { password = password.Password, sha1 = password.Sha1, ntlm = password.Ntlm }));

    private static string Lines => string.Concat(ClientCorpus.Passwords.Select(password => $"{password.Password}\n"));

    private static void AssertSaid(string said, Regex breached) =>
        Assert.Equal(
            ClientCorpus.Passwords.Where(password => password.Count > 0)
                .Select(password => Invariant($"{password.Password}: {password.Count}")).Order(StringComparer.Ordinal),
            breached.Matches(said).Select(match => $"{match.Groups["password"].Value}: {match.Groups["count"].Value}").Order(
                StringComparer.Ordinal));

    private static Task InstallAsync(string folder, string proof) => NodePackages.InstallAsync(
        folder, "clients of Pwned Passwords", Path.Combine(folder, "node_modules", proof), progress: null, CancellationToken.None);

    private static Task UnpackAsync() => RunAsync("bash", ["debian-packages.sh", DebianFolder, .. DebianPackages], "");

    /// <summary>Returns standard output; throws with standard error if the process failed.</summary>
    private static async Task<string> RunAsync(
        string program, IEnumerable<string> arguments, string input, params (string Name, string Value)[] variables)
    {
        var start = TestProcess.StartOf(program, arguments);
        start.WorkingDirectory = Folder;
        // Bypasses any proxy of the test run: these clients only contact this machine.
        start.Environment["NO_PROXY"] = start.Environment["no_proxy"] = "127.0.0.1,localhost";
        foreach (var (name, value) in variables)
            start.Environment[name] = value;
        return (await start.RunToEndAsync(input)).Succeeded().Output;
    }

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
