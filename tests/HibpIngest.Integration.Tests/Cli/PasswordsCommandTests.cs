using HibpIngest.Passwords;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests <c>hibp passwords</c>.</summary>
public sealed class PasswordsCommandTests : CommandTestBase
{
    [Fact]
    public async Task Passwords_are_imported_switched_rolled_back_exported_and_deleted()
    {
        var corpus = new ClientCorpus(seed: 51);
        var sha1 = Folder.Write("sha1.txt", string.Join('\n', corpus.Lines(HashMode.Sha1).Reverse()));
        var ntlm = Folder.Write("ntlm.txt", string.Join("\r\n", corpus.Lines(HashMode.Ntlm)));
        Assert.Contains("there are no passwords", await ShowAsync("passwords", "status"), StringComparison.OrdinalIgnoreCase);

        var first = await JsonAsync("passwords", "import", sha1, "--json");
        var release = first.GetProperty("release").GetString()!;
        Assert.Equal(corpus.Lines(HashMode.Sha1).Count(), first.GetProperty("parts")[0].GetProperty("hashes").GetInt32());
        Assert.True(first.GetProperty("served").GetBoolean());
        var joined = await JsonAsync("passwords", "import", ntlm, "--mode", "ntlm", "--into", "pack,table", "--json");
        Assert.Equal(release, joined.GetProperty("release").GetString());
        Assert.False(Directory.Exists(Path.Combine(Folder.Path, ".hibp", "passwords-import")));

        // A release without NTLM doesn't replace a served one that has it.
        var alone = await RunAsync("passwords", "import", sha1, "--release", "alone");
        Assert.Equal(0, alone.ExitCode);
        Assert.Contains("the served release has ntlm", alone.Error, StringComparison.Ordinal);
        Assert.Contains("It is not served", alone.Output, StringComparison.Ordinal);
        var served = await JsonAsync("passwords", "switch", "pack", "--release", "alone", "--json");
        Assert.Equal(("pack", "alone"), (served.GetProperty("backend").GetString(), served.GetProperty("release").GetString()));
        var status = await JsonAsync("passwords", "status", "--json");
        Assert.Equal(release, status.GetProperty("before").GetProperty("release").GetString());
        Assert.Equal(2, status.GetProperty("releases").GetArrayLength());
        Assert.Equal(release, (await JsonAsync("passwords", "switch", "--back", "--json")).GetProperty("release").GetString());

        foreach (var mode in HashModes.All)
        {
            var file = Path.Combine(Folder.Path, $"{mode.Name()}.export");
            Assert.Contains("hashes", await ShowAsync("passwords", "export", file, "--mode", mode.Name()), StringComparison.Ordinal);
            var expected = Encoding.ASCII.GetBytes(string.Concat(corpus.Lines(mode).Select(line => line + "\n")));
            Assert.Equal(expected, await File.ReadAllBytesAsync(file));
            Assert.Equal(Encoding.ASCII.GetString(expected), (await RunAsync("passwords", "export", "-", "--mode", mode.Name())).Output);
        }

        Assert.Contains(
            "is served", (await RunAsync("passwords", "delete", release, "--yes")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains("alone is deleted", await ShowAsync("passwords", "delete", "alone", "--yes"), StringComparison.Ordinal);
        Assert.Contains(
            "no release was served", (await RunAsync("passwords", "switch", "--back")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains("no release other", (await RunAsync("passwords", "switch", "pack", "--release", "other")).FailedWithOneLine(),
            StringComparison.Ordinal);
        Assert.Contains("not in blob", (await RunAsync("passwords", "switch", "blob")).FailedWithOneLine(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Import_with_far_fewer_hashes_is_reported_and_served_only_after_a_switch()
    {
        var corpus = new ClientCorpus(seed: 52);
        var large = Folder.Write("large.txt", string.Join('\n', corpus.Lines(HashMode.Sha1)));
        var small = Folder.Write("small.txt", string.Join('\n', corpus.Lines(HashMode.Sha1).Take(3)));
        await ShowAsync("passwords", "import", large, "--release", "large");
        var run = await RunAsync("passwords", "import", small, "--release", "small");
        Assert.Equal(1, run.ExitCode);
        Assert.Contains("small has 3 sha1 hashes", run.Output, StringComparison.Ordinal);
        Assert.Contains("It is not served", run.Output, StringComparison.Ordinal);
        Assert.Contains("it has 3 sha1 hashes, under 95% of the", run.Error, StringComparison.Ordinal);
        Assert.Contains("hibp passwords switch pack --release small", run.Error, StringComparison.Ordinal);

        var status = await JsonAsync("passwords", "status", "--json");
        Assert.Equal("large", status.GetProperty("served").GetProperty("release").GetString());
        Assert.Equal(
            [("large", false), ("small", true)],
            status.GetProperty("releases").EnumerateArray().Select(release => (
                release.GetProperty("name").GetString()!,
                release.GetProperty("notServedBecause").GetString()?.Contains("under 95%", StringComparison.Ordinal) == true)));
        Assert.Contains("under 95%", string.Join(' ', (await ShowAsync("passwords", "status")).Split((char[]?)null,
            StringSplitOptions.RemoveEmptyEntries)), StringComparison.Ordinal);
        await ShowAsync("passwords", "switch", "pack", "--release", "small");
        Assert.Equal(3, (await ShowAsync("passwords", "export", "-")).Trim().Split('\n').Length);
    }

    [Fact]
    public async Task Plain_password_lists_are_hashed_in_both_modes()
    {
        var list = Folder.Write("list.txt", "password\n123456\npassword\n");
        var imported = await JsonAsync("passwords", "import", "--plain", list, "--json");
        Assert.Equal(
            [("sha1", 2), ("ntlm", 2)],
            imported.GetProperty("parts").EnumerateArray().Select(
                part => (part.GetProperty("mode").GetString()!, part.GetProperty("hashes").GetInt32())));
        Assert.Equal(
            "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:2\n7C4A8D09CA3762AF61E59520943DC26494F8941B:1\n",
            (await RunAsync("passwords", "export", "-")).Output);
        Assert.Equal(
            "32ED87BDB5FDC5E9CBA88547376818D4:1\n8846F7EAEE8FB117AD06BDD830B7586C:2\n",
            (await RunAsync("passwords", "export", "-", "--mode", "ntlm")).Output);
    }

    [Fact]
    public async Task Invalid_password_commands_fail_and_serve_nothing()
    {
        var bad = Folder.Write("bad.txt", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:2\nsecret words\n");
        var error = (await RunAsync("passwords", "import", bad)).FailedWithOneLine();
        Assert.Contains("line 2", error, StringComparison.Ordinal);
        Assert.DoesNotContain("secret words", error, StringComparison.Ordinal);
        Assert.Contains("none.txt", (await RunAsync("passwords", "import", "none.txt")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Equal(2, (await RunAsync("passwords", "import", bad, "--into", "packs")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "import", bad, "--mode", "md5")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "switch")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "switch", "--back", "pack")).ExitCode);
        Assert.Contains("--memory", (await RunAsync("passwords", "import", bad, "--memory", "1")).Error, StringComparison.Ordinal);
        Assert.Contains(
            "no release was served", (await RunAsync("passwords", "switch", "--back")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains("no passwords", await ShowAsync("passwords", "status"), StringComparison.OrdinalIgnoreCase);
        Assert.False(File.Exists(Path.Combine(Folder.Path, "out.txt")));
        (await RunAsync("passwords", "export", Path.Combine(Folder.Path, "out.txt"))).FailedWithOneLine();
        Assert.Empty(Directory.GetFiles(Folder.Path, "out.*"));
    }

    private async Task<string> ShowAsync(params string[] arguments)
    {
        var run = await RunAsync(arguments);
        Assert.True(run.ExitCode == 0, run.Error);
        return run.Output;
    }

    private async Task<JsonElement> JsonAsync(params string[] arguments) => JsonElement.Parse(await ShowAsync(arguments));
}
