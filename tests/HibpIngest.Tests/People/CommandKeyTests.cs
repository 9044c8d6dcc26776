using System.Buffers.Text;
using HibpIngest.Messages;
using HibpIngest.People;

namespace HibpIngest.Tests.People;

public sealed class CommandKeyTests
{
    // Longer than any text that is found in random characters by chance.
    private const string Alias = "annabel.castellano";

    private static readonly string Private = Convert.ToBase64String(SHA256.HashData("a"u8));

    private static readonly PersonCommand Command =
        new(CommandKind.Subscribe)
        {
            Id = Guid.NewGuid(),
            At = DateTimeOffset.UnixEpoch,
            Email = $"{Alias}@example.com",
            Network = "CB0071",
        };

    private readonly CommandKey _key = CommandKey.Parse(Private)!;

    [Fact]
    public void Command_is_read_by_the_holder_of_the_private_key_only()
    {
        var message = CommandMessage.Of(Command, CommandSealer.Parse(_key.PublicKey));

        var body = message.ToJson();
        Assert.DoesNotContain(Alias, body, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Alias, Encoding.Latin1.GetString(Base64Url.DecodeFromChars(message.Sealed)), StringComparison.Ordinal);
        Assert.Equal(Command, WorkMessage.Parse<CommandMessage>(body).Open(_key));
        var other = CommandKey.Parse(Convert.ToBase64String(SHA256.HashData("b"u8)))!;
        var error = Assert.Throws<UnreadableMessageException>(() => message.Open(other));
        Assert.Null(error.InnerException);
        Assert.DoesNotContain("ann", Command.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Same_command_is_sealed_differently_each_time_in_the_same_length()
    {
        var sealer = CommandSealer.Parse(_key.PublicKey);
        var longest = Command with { Email = $"{new string('a', 64)}@{new string('b', 186)}.com" };
        var sealedOnes = new[] { Command, Command, longest }.Select(one => CommandMessage.Of(one, sealer).Sealed).ToList();
        Assert.Equal(3, sealedOnes.Distinct().Count());
        Assert.Single(sealedOnes.Select(one => one.Length).Distinct());
        // Queue Storage accepts 64 KB.
        Assert.True(sealedOnes[0].Length < 2_000);
    }

    [Fact]
    public void Sealed_command_with_any_changed_byte_is_refused()
    {
        var bytes = Base64Url.DecodeFromChars(CommandMessage.Of(Command, CommandSealer.Parse(_key.PublicKey)).Sealed);
        for (var i = 0; i < bytes.Length; i += i < 120 ? 1 : 37)
        {
            bytes[i] ^= 1;
            Assert.Throws<UnreadableMessageException>(() => new CommandMessage { Sealed = Base64Url.EncodeToString(bytes) }.Open(_key));
            bytes[i] ^= 1;
        }
        foreach (var text in (string[])["", "AAAA", "no base64"])
            Assert.Throws<UnreadableMessageException>(() => new CommandMessage { Sealed = text }.Open(_key));
    }

    [Fact]
    public void Sealed_command_opens_by_the_documented_steps()
    {
        var bytes = Base64Url.DecodeFromChars(CommandMessage.Of(Command, CommandSealer.Parse(_key.PublicKey)).Sealed);
        // docs/people.md, "Sealed commands", with the platform's own import of a private key from PKCS #8.
        using var mine = ECDiffieHellman.Create();
        mine.ImportPkcs8PrivateKey(
            Convert.FromHexString("3041020100301306072A8648CE3D020106082A8648CE3D030107042730250201010420")
                .Concat(Convert.FromBase64String(Private)).ToArray(), out _);
        using var once = ECDiffieHellman.Create();
        once.ImportSubjectPublicKeyInfo(bytes.AsSpan(1, 91), out _);
        var key = HKDF.DeriveKey(
            HashAlgorithmName.SHA256, mine.DeriveRawSecretAgreement(once.PublicKey), 32, [], [.. "hibp command "u8, .. bytes[..92]]);
        using var aes = new AesGcm(key, 16);
        var text = new byte[768];
        aes.Decrypt(new byte[12], bytes.AsSpan(92, 768), bytes.AsSpan(92 + 768), text);
        Assert.Contains("\"kind\":\"subscribe\"", Encoding.UTF8.GetString(text), StringComparison.Ordinal);
        Assert.Contains("\"email\":\"annabel.castellano@example.com\"", Encoding.UTF8.GetString(text), StringComparison.Ordinal);
        Assert.Equal(1, bytes[0]);
    }

    [Theory]
    [InlineData("AAAA")]
    [InlineData("no base64")]
    [InlineData("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")]
    [InlineData("//////////////////////////////////////////8=")]
    public void Wrong_keys_are_refused_by_name(string key)
    {
        Assert.Contains(
            "HIBP_COMMAND_KEY", Assert.Throws<BadInputException>(() => CommandKey.Parse(key)).Message, StringComparison.Ordinal);
        Assert.Contains(
            "HIBP_COMMAND_PUBLIC_KEY", Assert.Throws<BadInputException>(() => CommandSealer.Parse(key)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Public_key_of_another_curve_is_refused()
    {
        using var other = ECDiffieHellman.Create(ECCurve.NamedCurves.nistP384);
        Assert.Null(CommandSealer.TryParse(Convert.ToBase64String(other.ExportSubjectPublicKeyInfo())));
    }
}
