using MimeKit;
using MimeKit.Cryptography;
using Org.BouncyCastle.Asn1.Pkcs;
using Org.BouncyCastle.Crypto;
using Org.BouncyCastle.Crypto.Parameters;
using Org.BouncyCastle.Security;

namespace HibpIngest.Pipeline.Mail;

/// <summary>Signs mails with DKIM (RFC 6376, RFC 8463), so that receivers can trust their headers, including List-Unsubscribe.</summary>
public sealed class MailSigner
{
    private const int MinRsaBits = 2048;

    private static readonly HeaderId[] Signed =
    [
        HeaderId.From, HeaderId.To, HeaderId.Subject, HeaderId.Date, HeaderId.MessageId, HeaderId.MimeVersion, HeaderId.ContentType,
        HeaderId.ListUnsubscribe, HeaderId.ListUnsubscribePost,
    ];

    private readonly string _domain;
    private readonly string _selector;
    private readonly AsymmetricKeyParameter _key;

    private MailSigner(string domain, string selector, AsymmetricKeyParameter key) => (_domain, _selector, _key) = (domain, selector, key);

    /// <summary>Reads HIBP_DKIM_DOMAIN, HIBP_DKIM_SELECTOR and HIBP_DKIM_KEY.</summary>
    /// <param name="domain">Signing domain: the sender's, or a parent of it.</param>
    /// <param name="selector">Name of the public key in the domain's DNS.</param>
    /// <param name="key">PEM of the private key; line breaks may be missing.</param>
    /// <returns>Null if none is set, and mails aren't signed.</returns>
    /// <exception cref="BadInputException">One is missing or invalid.</exception>
    public static MailSigner? Parse(string? domain, string? selector, string? key)
    {
        if (domain is null && selector is null && key is null)
            return null;
        foreach (var (name, value) in new[] { ("DOMAIN", domain), ("SELECTOR", selector), ("KEY", key) })
        {
            if (value is null)
                throw new BadInputException($"HIBP_DKIM_{name}: expected together with the other HIBP_DKIM_ variables, found nothing");
            if (name != "KEY" && !MailSyntax.IsAddress("a@" + value))
                throw new BadInputException($"HIBP_DKIM_{name}: expected letters, digits, dots and hyphens, found other characters");
        }
        AsymmetricKeyParameter found = ReadKey(key!) switch
        {
            Ed25519PrivateKeyParameters one => one,
            RsaKeyParameters { IsPrivate: true } one when one.Modulus.BitLength >= MinRsaBits => one,
            RsaKeyParameters { IsPrivate: true } one => throw Wrong($"an RSA key of {one.Modulus.BitLength} bits"),
            null => throw Wrong("no private key in PEM"),
            _ => throw Wrong("another key"),
        };
        return new MailSigner(domain!, selector!, found);

        static BadInputException Wrong(string what) => new($"HIBP_DKIM_KEY: expected the PEM of a private key, RSA of {MinRsaBits} "
            + $"bits or more, or Ed25519, found {what}");
    }

    /// <param name="message">The mail, which must not be changed afterwards.</param>
    /// <param name="date">Time of the signature; fixed, so that the same mail has the same signature.</param>
    internal void Sign(MimeMessage message, FormatOptions format, DateTimeOffset date)
    {
        var signer = new DatedSigner(_key, _domain, _selector, date)
        {
            SignatureAlgorithm = _key is RsaKeyParameters ? DkimSignatureAlgorithm.RsaSha256 : DkimSignatureAlgorithm.Ed25519Sha256,
            HeaderCanonicalizationAlgorithm = DkimCanonicalizationAlgorithm.Relaxed,
            BodyCanonicalizationAlgorithm = DkimCanonicalizationAlgorithm.Relaxed,
        };
        // From is signed a second time, so that another one added in transit breaks the signature.
        signer.Sign(
            format, message,
            [.. Signed.Where(id => message.Headers.Contains(id) || message.Body!.Headers.Contains(id)), HeaderId.From]);
    }

    private static AsymmetricKeyParameter? ReadKey(string pem)
    {
        if (!PemEncoding.TryFind(pem, out var fields))
            return null;
        try
        {
            var key = Convert.FromBase64String(pem[fields.Base64Data]);
            return pem[fields.Label] switch
            {
                "PRIVATE KEY" => PrivateKeyFactory.CreateKey(key),
                "RSA PRIVATE KEY" => new RsaPrivateCrtKeyParameters(RsaPrivateKeyStructure.GetInstance(key)),
                _ => null,
            };
        }
        // A library's message about a key must not get into ours.
        catch (Exception e) when (e is FormatException or ArgumentException or IOException or SecurityUtilityException)
        {
            return null;
        }
    }

    private sealed class DatedSigner(AsymmetricKeyParameter key, string domain, string selector, DateTimeOffset date)
        : DkimSigner(key, domain, selector)
    {
        protected override long GetTimestamp() => date.ToUnixTimeSeconds();
    }
}
