using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Tests.Notifications;

public sealed class SubscriberFileTests
{
    private static readonly Subscription[] Two = [new("ann@example.com", null), new("bob@example.com", "example.org")];

    [Theory]
    [InlineData("email,domain\nann@example.com,\nbob@example.com,example.org\n")]
    [InlineData("email,domain\r\nann@example.com,\r\nbob@example.com,example.org")]
    [InlineData("\uFEFFemail,domain\r\nann@example.com,\r\nbob@example.com,example.org\r\n")]
    [InlineData("\uFEFF\"email\",\"domain\"\n\"ann@example.com\",\"\"\n\"bob@example.com\",\"example.org\"\n")]
    [InlineData(" Domain , EMAIL \n,Ann@Example.com \n Example.ORG ,\tBOB@example.com\n")]
    [InlineData("name,email,note,domain\n\"A, nn\",ann@example.com,,\nBob,bob@example.com,\"say \"\"hi\"\"\",example.org\n")]
    [InlineData("email,domain\n\nann@example.com\n  \n,\nbob@example.com,example.org\n\n\n")]
    [InlineData("email,domain\nann@example.com,\nbob@example.com,example.org\nANN@example.com, \nbob@EXAMPLE.com,Example.org\n")]
    public void Valid_files_are_read(string csv) => Assert.Equal(Two, Read(csv));

    [Fact]
    public void Utf16_with_a_bom_is_read() =>
        Assert.Equal(Two, SubscriberFile.Read(new MemoryStream(
            [
                .. Encoding.Unicode.Preamble,
                .. Encoding.Unicode.GetBytes("email,domain\r\nann@example.com,\r\nbob@example.com,example.org\r\n"),
            ])));

    [Fact]
    public void File_without_a_domain_column_subscribes_each_address_to_itself() =>
        Assert.Equal(
            [new("ann@example.com", null), new Subscription("bob@example.com", null)], Read("email\nann@example.com\nbob@example.com\n"));

    [Fact]
    public void Address_may_be_subscribed_to_itself_and_to_domains() =>
        Assert.Equal(
            [new("ann@example.com", null), new("ann@example.com", "example.com"), new Subscription("ann@example.com", "example.org")],
            Read("email,domain\nann@example.com,\nann@example.com,example.com\nann@example.com,example.org\n"));

    [Fact]
    public void Header_only_file_has_no_subscribers() => Assert.Empty(Read("email,domain\n"));

    [Theory]
    [InlineData("email,domain\nann@example.com,\nbob.secret\n", 3, "the email is not an address")]
    [InlineData(
        "email,domain\r\nann@example.com,\r\n\r\nsecret@example\r\n", 4, "the email is not an address (it breaks the rule DomainShape)")]
    [InlineData("email,domain\nsecret@example.notatld,\n", 2, "the email is not an address (it breaks the rule TopLevelDomain)")]
    [InlineData("email,domain\nann@example.com;secret@example.com,\n", 2, "the email is not an address")]
    [InlineData("email,domain\nsécret@example.com,\n", 2, "the email is not an address")]
    [InlineData("email,domain\n,secret.example\n", 2, "the email is missing")]
    [InlineData("email,domain\nann@example.com,secret\n", 2, "the domain is not a domain")]
    [InlineData("email,domain\nann@example.com,secret@example.com\n", 2, "the domain is not a domain")]
    [InlineData("email,domain\nann@example.com,example.com,secret\n", 2, "it has 3 fields, and the header 2")]
    [InlineData("email,domain\nann@example.com,\n\"secret@example.com,\nbob@example.com,\n", 3, "the quotes are wrong")]
    [InlineData("email,domain\nann@example.com,\n\"secret\"@example.com,\nbob@example.com,\n", 3, "the quotes are wrong")]
    [InlineData("email,domain\nann@example.com,\nse\"cret@example.com,\n", 3, "the quotes are wrong")]
    [InlineData("email,domain\n\"secret@example.com\n\",\n", 2, "the quotes are wrong")]
    [InlineData("secret@example.com,\nbob@example.com,\n", 1, "the header email,domain is expected")]
    [InlineData("email;domain\nsecret@example.com;\n", 1, "the header email,domain is expected")]
    [InlineData("domain\nsecret.example\n", 1, "the header email,domain is expected")]
    [InlineData("\n\nemail,Email\nsecret@example.com,\n", 3, "the header has the column email twice")]
    public void Bad_line_is_reported_by_number_without_its_content(string csv, int line, string words)
    {
        var refusal = Assert.Throws<BadInputException>(() => Read(csv));

        Assert.StartsWith($"the subscriber file, line {line}: {words}", refusal.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", refusal.ToString());
    }

    [Fact]
    public void Every_bad_line_is_reported_and_the_others_are_read()
    {
        var bad = new List<(long Line, string Reason)>();
        const string Csv =
            "email,domain\nann@example.com,\nsecret.one\n\"secret\"two@example.com,\nbob@example.com,example.org\n,secret.example\n"
            + "ann@example.com,secret\nann@example.com,,secret\n\"secret@example.com,\n\nann@example.com,\nsecret@example\n";

        Assert.Equal(Two, Read(Csv, (line, reason) => bad.Add((line, reason))));

        Assert.Equal(
            [
                (3, "the email is not an address"), (4, "the quotes are wrong"), (6, "the email is missing"),
                (7, "the domain is not a domain (it breaks the rule DomainShape)"),
                (8, "it has 3 fields, and the header 2"), (9, "the quotes are wrong"),
                (12, "the email is not an address (it breaks the rule DomainShape)"),
            ],
            bad);
        Assert.DoesNotContain("secret", string.Concat(bad), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("")]
    [InlineData("\uFEFF")]
    [InlineData("\n\n")]
    public void Empty_file_is_refused(string csv) => Assert.Contains("is empty", Assert.Throws<BadInputException>(() => Read(csv)).Message);

    [Fact]
    public void Endless_line_is_refused_before_it_fills_memory()
    {
        var endless = new Endless();

        var refusal = Assert.Throws<BadInputException>(() => SubscriberFile.Read(endless));

        Assert.StartsWith(
            "the subscriber file, line 2: the quotes are wrong, or the line has more than", refusal.Message, StringComparison.Ordinal);
        Assert.InRange(endless.Given, 0, 1 << 20);
    }

    [Fact]
    public void Large_file_is_read_without_duplicates_and_its_lines_are_counted()
    {
        var csv = new StringBuilder("email,domain\n");
        for (var i = 0; i < 300_000; i++)
            csv.Append("user").Append(i % 150_000).Append(i % 1000 == 0 ? "@example.com,\n\n" : "@example.com,\n");
        var text = csv.Append("bad\n").ToString();
        var bad = new List<long>();

        var subscriptions = Read(text, (line, _) => bad.Add(line));

        Assert.Equal((150_000, "user149999@example.com"), (subscriptions.Count, subscriptions[^1].Email));
        Assert.Equal([300_302], bad);
        Assert.StartsWith(
            "the subscriber file, line 300302:", Assert.Throws<BadInputException>(() => Read(text)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Read_leaves_the_stream_open()
    {
        using var stream = new MemoryStream("email\nann@example.com\n"u8.ToArray());

        SubscriberFile.Read(stream);

        Assert.True(stream.CanRead);
    }

    private static IReadOnlyList<Subscription> Read(string csv, Action<long, string>? onBadLine = null)
    {
        // Read in small pieces, as from a network.
        using var stream = new Trickle(Encoding.UTF8.GetBytes(csv));
        return SubscriberFile.Read(stream, onBadLine);
    }

    private sealed class Trickle(byte[] bytes) : MemoryStream(bytes)
    {
        public override int Read(byte[] buffer, int offset, int count) => base.Read(buffer, offset, Math.Min(count, 4093));
    }

    private sealed class Endless : MemoryStream
    {
        public long Given { get; private set; }

        public override int Read(byte[] buffer, int offset, int count)
        {
            if (Given > 1 << 26)
                throw new InvalidOperationException("this much was read");
            var part = buffer.AsSpan(offset, count);
            part.Fill((byte)'x');
            if (Given == 0)
                "email,domain\n\""u8.CopyTo(part);
            Given += count;
            return count;
        }
    }
}
