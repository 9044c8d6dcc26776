using HibpIngest.Passwords.Releases;

namespace HibpIngest.Integration.Tests.Cli;

public sealed class PasswordsCommandTests : CommandTestBase
{
    [Fact]
    public async Task Passwords_are_imported_switched_rolled_back_exported_and_deleted()
    {
        var corpus = new ClientCorpus(seed: 51);
        var sha1 = Folder.Write("sha1.txt", string.Join('\n', corpus.Lines(HashMode.Sha1).Reverse()));
        var ntlm = Folder.Write("ntlm.txt", string.Join("\r\n", corpus.Lines(HashMode.Ntlm)));
        Assert.Contains("there are no passwords", (await RunAsync("passwords", "status")).Output, StringComparison.OrdinalIgnoreCase);

        var first = await JsonAsync("passwords", "import", sha1);
        var release = first.Text("release")!;
        Assert.Equal(corpus.Lines(HashMode.Sha1).Count(), first.List("parts")[0].Number("hashes"));
        Assert.True(first.Flag("served"));
        var joined = await JsonAsync("passwords", "import", ntlm, "--mode", "ntlm", "--into", "pack,table");
        Assert.Equal(release, joined.Text("release"));
        Assert.False(Directory.Exists(Path.Combine(Folder.Path, ".hibp", "passwords-import")));

        // A release without NTLM doesn't replace a served one that has it.
        var alone = (await RunAsync("passwords", "import", sha1, "--release", "alone")).Printed("It is not served");
        Assert.Contains("the served release has ntlm", alone.Error, StringComparison.Ordinal);
        var served = await JsonAsync("passwords", "switch", "pack", "--release", "alone");
        Assert.Equal(("pack", "alone"), (served.Text("backend"), served.Text("release")));
        var status = await JsonAsync("passwords", "status");
        Assert.Equal((release, 2), (status.GetProperty("before").Text("release"), status.List("releases").Count));
        Assert.Equal(release, (await JsonAsync("passwords", "switch", "--back")).Text("release"));

        foreach (var mode in HashModes.All)
        {
            var file = Path.Combine(Folder.Path, $"{mode.Name()}.export");
            (await RunAsync("passwords", "export", file, "--mode", mode.Name())).Printed("hashes");
            var expected = Encoding.ASCII.GetBytes(string.Concat(corpus.Lines(mode).Select(line => line + "\n")));
            Assert.Equal(expected, await File.ReadAllBytesAsync(file));
            Assert.Equal(Encoding.ASCII.GetString(expected), (await RunAsync("passwords", "export", "-", "--mode", mode.Name())).Output);
        }

        (await RunAsync("passwords", "delete", release, "--yes")).FailedWith("is served");
        (await RunAsync("passwords", "delete", "alone", "--yes")).Printed("alone is deleted");
        (await RunAsync("passwords", "switch", "--back")).FailedWith("no release was served");
        (await RunAsync("passwords", "switch", "pack", "--release", "other")).FailedWith("no release other");
        (await RunAsync("passwords", "switch", "blob")).FailedWith("not in blob");
    }

    [Fact]
    public async Task Import_with_far_fewer_hashes_is_reported_and_served_only_after_a_switch()
    {
        var corpus = new ClientCorpus(seed: 52);
        var large = Folder.Write("large.txt", string.Join('\n', corpus.Lines(HashMode.Sha1)));
        var small = Folder.Write("small.txt", string.Join('\n', corpus.Lines(HashMode.Sha1).Take(3)));
        (await RunAsync("passwords", "import", large, "--release", "large")).Succeeded();
        var run = await RunAsync("passwords", "import", small, "--release", "small");
        Assert.Equal(1, run.ExitCode);
        Assert.Contains("small has 3 sha1 hashes", run.Output, StringComparison.Ordinal);
        Assert.Contains("It is not served", run.Output, StringComparison.Ordinal);
        Assert.Contains("it has 3 sha1 hashes, under 95% of the", run.Error, StringComparison.Ordinal);
        Assert.Contains("hibp passwords switch pack --release small", run.Error, StringComparison.Ordinal);

        var status = await JsonAsync("passwords", "status");
        Assert.Equal("large", status.GetProperty("served").Text("release"));
        Assert.Equal(
            [("large", false), ("small", true)],
            status.List("releases").Select(release => (
                release.Text("name"), release.Text("notServedBecause")?.Contains("under 95%", StringComparison.Ordinal) == true)));
        Assert.Contains(
            "under 95%",
            string.Join(' ', (await RunAsync("passwords", "status")).Output.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries)),
            StringComparison.Ordinal);
        (await RunAsync("passwords", "switch", "pack", "--release", "small")).Succeeded();
        Assert.Equal(3, (await RunAsync("passwords", "export", "-")).Output.Trim().Split('\n').Length);
    }

    [Fact]
    public async Task Plain_password_lists_are_hashed_in_both_modes()
    {
        var list = Folder.Write("list.txt", "password\n123456\npassword\n");
        var imported = await JsonAsync("passwords", "import", "--plain", list);
        Assert.Equal(
            [("sha1", 2), ("ntlm", 2)],
            imported.List("parts").Select(part => (part.Text("mode"), part.Number("hashes"))));
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
        var error = (await RunAsync("passwords", "import", bad)).FailedWith("line 2");
        Assert.DoesNotContain("secret words", error, StringComparison.Ordinal);
        (await RunAsync("passwords", "import", "none.txt")).FailedWith("none.txt");
        Assert.Equal(2, (await RunAsync("passwords", "import", bad, "--into", "packs")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "import", bad, "--mode", "md5")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "switch")).ExitCode);
        Assert.Equal(2, (await RunAsync("passwords", "switch", "--back", "pack")).ExitCode);
        Assert.Contains("--memory", (await RunAsync("passwords", "import", bad, "--memory", "1")).Error, StringComparison.Ordinal);
        (await RunAsync("passwords", "switch", "--back")).FailedWith("no release was served");
        Assert.Contains("no passwords", (await RunAsync("passwords", "status")).Output, StringComparison.OrdinalIgnoreCase);
        Assert.False(File.Exists(Path.Combine(Folder.Path, "out.txt")));
        (await RunAsync("passwords", "export", Path.Combine(Folder.Path, "out.txt"))).FailedWithOneLine();
        Assert.Empty(Directory.GetFiles(Folder.Path, "out.*"));
    }
}
