using HibpIngest.Api.AccessLog;

namespace HibpIngest.Tests.AccessLog;

/// <summary>Tests the bytes of the access log against bytes assembled by hand from docs/access-log.md.</summary>
public sealed class AccessFrameTests
{
    private static readonly Guid Instance = new("00112233-4455-6677-8899-aabbccddeeff");

    [Fact]
    public void A_record_is_the_documented_32_bytes()
    {
        var bytes = new byte[AccessFrame.RecordBytes];
        var record = new AccessRecord(
            Microseconds: 0x0605040302010099, DurationMicroseconds: 0x11223344, Bytes: 0x55667788, Key: 0x8877665544332211, Route: 0x0201,
            Status: 429, ClientKind.DotNet);
        AccessFrame.Write(bytes, record, AccessFrame.Durable);
        Assert.Equal("990001020304050644332211887766551122334455667788" + "0102AD0106010000", Convert.ToHexString(bytes));
        Assert.Equal(record, AccessFrame.Read(bytes));
        Assert.Equal("1122334455667788", record.KeyText);
        Assert.Equal("", default(AccessRecord).KeyText);
    }

    [Fact]
    public void A_frame_has_the_documented_header()
    {
        var frame = AccessFrame.End(Instance);
        var expected = "48414331" + "03000000" + "00000000" + "........" + "0000000000000000" + "33221100554477668899AABBCCDDEEFF";
        Assert.Equal(expected.Replace(".", "", StringComparison.Ordinal), Convert.ToHexString(frame).Remove(24, 8));
        Assert.True(AccessFrame.IsWhole(frame));
    }

    [Fact]
    public async Task Every_flipped_bit_and_every_truncation_is_detected()
    {
        var blob = Blob();
        Assert.Equal((true, 3), await ReadAsync(blob));
        for (var at = 0; at < blob.Length; at++)
        {
            for (var bit = 0; bit < 8; bit++)
            {
                var damaged = blob.ToArray();
                damaged[at] ^= (byte)(1 << bit);
                // A frame length that is too large looks like a blob that is still being written.
                var failure = await Xunit.Record.ExceptionAsync(async () => Assert.False((await ReadAsync(damaged)).Ended));
                Assert.True(failure is null or StoreMismatchException, $"bit {bit} of byte {at}: {failure}");
            }
        }
        for (var length = 0; length < blob.Length; length++)
            Assert.False((await ReadAsync(blob[..length])).Ended);
    }

    [Fact]
    public async Task A_duplicated_block_is_read_once()
    {
        var (routes, records) = (AccessFrame.Routes(["(none)", "/a"], Instance), Records(5, 3));
        var read = await ReadAsync([.. routes, .. records, .. records, .. Records(8, 1), .. AccessFrame.End(Instance)]);
        Assert.Equal((true, 4), read);
    }

    [Fact]
    public async Task Records_without_their_route_are_rejected()
    {
        await Assert.ThrowsAsync<StoreMismatchException>(() => ReadAsync(Records(0, 1)));
        await Assert.ThrowsAsync<StoreMismatchException>(() => ReadAsync([.. AccessFrame.Routes(["(none)"], Instance), .. Records(0, 1)]));
        await Assert.ThrowsAsync<StoreMismatchException>(() => ReadAsync(new byte[100]));
    }

    [Theory]
    [InlineData("", ClientKind.None)]
    [InlineData("  ", ClientKind.None)]
    [InlineData("something", ClientKind.Other)]
    [InlineData("curl/8.5.0", ClientKind.CommandLine)]
    [InlineData("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", ClientKind.Browser)]
    [InlineData("Mozilla/5.0 (compatible; Googlebot/2.1)", ClientKind.Robot)]
    [InlineData("Bitwarden_CLI/2024.1 (node)", ClientKind.PasswordManager)]
    [InlineData("Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1", ClientKind.DotNet)]
    [InlineData("python-requests/2.31", ClientKind.Python)]
    [InlineData("Go-http-client/1.1", ClientKind.Go)]
    [InlineData("hibp 14.0.0", ClientKind.JavaScript)]
    public void A_user_agent_maps_to_its_client_kind(string agent, ClientKind kind) => Assert.Equal(kind, ClientKinds.Of(agent));

    private static byte[] Blob() =>
        [.. AccessFrame.Routes(["(none)", "/a"], Instance), .. Records(0, 2), .. Records(2, 1), .. AccessFrame.End(Instance)];

    private static byte[] Records(ulong first, int count)
    {
        var frame = new byte[AccessFrame.HeaderBytes + (count * AccessFrame.RecordBytes)];
        for (var i = 0; i < count; i++)
            AccessFrame.Write(frame.AsSpan(AccessFrame.HeaderBytes + (i * AccessFrame.RecordBytes)), Record(i), 0);
        AccessFrame.WriteHeader(frame, AccessFrameKind.Records, first, Instance);
        return frame;
    }

    private static AccessRecord Record(int i) => new(i, 1, 2, 3, 1, 200, ClientKind.Other);

    private static async Task<(bool Ended, int Records)> ReadAsync(byte[] blob)
    {
        var records = 0;
        using var stream = new MemoryStream(blob);
        var ended = await AccessLogReader.ReadAsync(
            stream, (Guid _, ulong _, string _, in AccessRecord _) => records++, CancellationToken.None);
        return (ended, records);
    }
}
