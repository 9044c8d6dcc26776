using HibpIngest.Pipeline.Mail;
using MimeKit;
using MimeKit.Cryptography;
using Org.BouncyCastle.Crypto;
using Org.BouncyCastle.Crypto.Parameters;
using Org.BouncyCastle.Pkcs;
using Org.BouncyCastle.Security;

namespace HibpIngest.Tests.Notifications;

public sealed class MailSignerTests
{
    private const string SignedHeaders = "from:to:subject:date:message-id:mime-version:content-type:list-unsubscribe:from";

    private static readonly Breach Breach = new()
    {
        Name = "Adobe",
        Metadata = new BreachMetadata { Title = "Adobe & Söhne", Description = "  . \n.\n\nFrom here  on" },
    };

    [Fact]
    public void Rsa_signature_is_verified_by_mimekit_and_by_hand()
    {
        using var rsa = RSA.Create(2048);
        var content = Compose(MailSigner.Parse("hibp.test", "one", rsa.ExportPkcs8PrivateKeyPem()));

        Assert.True(IsVerified(content, PublicKeyFactory.CreateKey(rsa.ExportSubjectPublicKeyInfo())));
        AssertSigned(Encoding.ASCII.GetString(content), rsa);
        Assert.Equal(content, Compose(MailSigner.Parse("hibp.test", "one", rsa.ExportPkcs8PrivateKeyPem())));
    }

    [Fact]
    public void Ed25519_signature_is_verified_by_mimekit()
    {
        var key = new Ed25519PrivateKeyParameters(new SecureRandom());
        var pem = PemEncoding.WriteString("PRIVATE KEY", PrivateKeyInfoFactory.CreatePrivateKeyInfo(key).GetEncoded());

        var content = Compose(MailSigner.Parse("hibp.test", "one", pem));

        Assert.Contains("a=ed25519-sha256", Encoding.ASCII.GetString(content));
        Assert.True(IsVerified(content, key.GeneratePublicKey()));
    }

    [Theory]
    [InlineData("Subject: ", "Subject: X")]
    [InlineData("To: ann", "To: amn")]
    [InlineData("List-Unsubscribe: <mailto:bye", "List-Unsubscribe: <mailto:eve")]
    [InlineData("From: ", "From: eve@example.com\r\nFrom: ")]
    [InlineData("The address", "The  addresses")]
    public void Changed_mail_fails_verification(string text, string changed)
    {
        using var rsa = RSA.Create(2048);
        var content = Encoding.ASCII.GetString(Compose(MailSigner.Parse("hibp.test", "one", rsa.ExportPkcs8PrivateKeyPem())));
        var at = content.IndexOf(text, StringComparison.Ordinal);
        Assert.True(at >= 0);

        var forged = content[..at] + changed + content[(at + text.Length)..];

        Assert.False(IsVerified(Encoding.ASCII.GetBytes(forged), PublicKeyFactory.CreateKey(rsa.ExportSubjectPublicKeyInfo())));
    }

    [Fact]
    public void Key_is_read_in_either_pem_format_and_without_line_breaks()
    {
        using var rsa = RSA.Create(2048);
        foreach (var pem in new[] { rsa.ExportPkcs8PrivateKeyPem(), rsa.ExportRSAPrivateKeyPem() })
        {
            foreach (var given in new[] { pem, pem.ReplaceLineEndings(""), pem.ReplaceLineEndings(" "), pem.ReplaceLineEndings("\r\n") })
                Assert.NotNull(MailSigner.Parse("hibp.test", "one", given));
        }
        Assert.Null(MailSigner.Parse(null, null, null));
    }

    [Fact]
    public void Invalid_setting_is_refused_in_one_line_without_the_key()
    {
        using var small = RSA.Create(1024);
        using var rsa = RSA.Create(2048);
        using var elliptic = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var key = rsa.ExportPkcs8PrivateKeyPem();
        foreach (var (domain, selector, given, says) in new (string?, string?, string?, string)[]
        {
            (null, "one", key, "HIBP_DKIM_DOMAIN: expected together with"),
            ("hibp.test", null, key, "HIBP_DKIM_SELECTOR: expected together with"),
            ("hibp.test", "one", null, "HIBP_DKIM_KEY: expected together with"),
            ("hibp test", "one", key, "HIBP_DKIM_DOMAIN: expected"),
            ("hibp.test", "one; d=eve", key, "HIBP_DKIM_SELECTOR: expected"),
            ("hibp.test", "one", small.ExportPkcs8PrivateKeyPem(), "found an RSA key of 1024 bits"),
            ("hibp.test", "one", elliptic.ExportPkcs8PrivateKeyPem(), "found another key"),
            ("hibp.test", "one", rsa.ExportSubjectPublicKeyInfoPem(), "found no private key in PEM"),
            ("hibp.test", "one", key.Replace("MII", "MIJ"), "found no private key in PEM"),
            ("hibp.test", "one", key[40..], "found no private key in PEM"),
            ("hibp.test", "one", "/etc/hibp/dkim.pem", "found no private key in PEM"),
        })
        {
            var error = Assert.Throws<BadInputException>(() => MailSigner.Parse(domain, selector, given));
            Assert.Contains(says, error.Message, StringComparison.Ordinal);
            Assert.DoesNotContain('\n', error.Message);
            Assert.DoesNotContain("MI", error.ToString(), StringComparison.Ordinal);
        }
    }

    private static byte[] Compose(MailSigner? signer)
    {
        var composer = new MailComposer("Notices <notices@hibp.test>", new MailService { Unsubscribe = "bye@hibp.test", Signer = signer });
        var notification = new Notification { Id = 42, Number = 1, Email = "ann@example.com", Accounts = 1 };
        return composer.Compose(notification, Breach, null, complete: true, new DateTimeOffset(2026, 3, 7, 9, 5, 3, TimeSpan.Zero))
            .Content.ToArray();
    }

    private static bool IsVerified(byte[] content, AsymmetricKeyParameter key)
    {
        var message = MimeMessage.Load(new MemoryStream(content));
        var signature = message.Headers[message.Headers.IndexOf(HeaderId.DkimSignature)];
        return new DkimVerifier(new Locator(key)).Verify(message, signature);
    }

    /// <summary>Verifies the signature by RFC 6376: relaxed header and body, both hashes.</summary>
    private static void AssertSigned(string mail, RSA rsa)
    {
        var end = mail.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        var headers = Regex.Split(mail[..end], @"\r\n(?![ \t])", RegexOptions.None, TimeSpan.FromSeconds(1))
            .Select(header => header.Split(':', 2)).Select(header => (Name: header[0].ToLowerInvariant(), Value: header[1])).ToList();
        var signature = Assert.Single(headers, header => header.Name == "dkim-signature").Value;
        var tags = signature.Split(';').Select(tag => tag.Split('=', 2)).ToDictionary(tag => tag[0].Trim(), tag => Unspaced(tag[1]));
        Assert.Equal(
            ("rsa-sha256", "hibp.test", "one", "relaxed/relaxed", SignedHeaders, "1772874303"),
            (tags["a"], tags["d"], tags["s"], tags["c"], tags["h"], tags["t"]));

        var lines = mail[(end + 4)..].Split("\r\n").Select(line => Relaxed(line).TrimEnd()).ToList();
        var body = string.Join("\r\n", lines).TrimEnd('\r', '\n') + "\r\n";
        Assert.Equal(Convert.ToBase64String(SHA256.HashData(Encoding.ASCII.GetBytes(body))), tags["bh"]);

        // From is signed twice, so that no second From can be added.
        var signed = string.Concat(tags["h"].Split(':').Distinct()
            .Select(name => $"{name}:{Relaxed(headers.Last(header => header.Name == name).Value).Trim()}\r\n"));
        var unsigned = signature[..(signature.LastIndexOf("b=", StringComparison.Ordinal) + 2)];
        Assert.True(rsa.VerifyData(
            Encoding.ASCII.GetBytes(signed + "dkim-signature:" + Relaxed(unsigned).Trim()), Convert.FromBase64String(tags["b"]),
            HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1));
    }

    private static string Relaxed(string text) => Regex.Replace(text, @"[ \t\r\n]+", " ", RegexOptions.None, TimeSpan.FromSeconds(1));

    private static string Unspaced(string text) => Regex.Replace(text, @"\s", "", RegexOptions.None, TimeSpan.FromSeconds(1));

    private sealed class Locator(AsymmetricKeyParameter key) : IDkimPublicKeyLocator
    {
        public AsymmetricKeyParameter LocatePublicKey(
            string methods, string domain, string selector, CancellationToken cancellationToken = default) =>
            (domain, selector) == ("hibp.test", "one") ? key : throw new InvalidOperationException($"{selector} of {domain}");

        public Task<AsymmetricKeyParameter> LocatePublicKeyAsync(
            string methods, string domain, string selector, CancellationToken cancellationToken = default) =>
            Task.FromResult(LocatePublicKey(methods, domain, selector, cancellationToken));
    }
}
