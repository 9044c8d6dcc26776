using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using MimeKit;
using MimeKit.Encodings;
using MimeKit.IO;
using MimeKit.IO.Filters;

namespace HibpIngest.Pipeline;

/// <summary>
/// Makes the mail of a notification: plain text and HTML from the files in Templates and, for a domain, its
/// accounts as CSV. The same notification, breach, accounts and date make the same bytes, Message-ID included,
/// so that a second copy can be told to be one. Safe for use by several threads at once.
/// </summary>
public sealed class MailComposer
{
    /// <summary>Most accounts in an attachment.</summary>
    public const int MaxAttachedAccounts = 10_000;

    /// <summary>Longest description shown, in UTF-16 units; real ones stay below 2,000.</summary>
    public const int MaxDescriptionLength = 8_000;

    private const int MaxTitleLength = 120;
    private const int MaxDataClasses = 100;
    private const int TextWidth = 76;
    private const string CrLf = "\r\n";

    // RFC 2047: an encoded word has at most 75 characters; MimeKit exceeds its limit by some.
    private static readonly FormatOptions Format = new() { NewLineFormat = NewLineFormat.Dos, MaxLineLength = 60 };

    private readonly MailTemplates _templates;
    private readonly MailFrom _from;
    private readonly MailService _service;
    private readonly MailLogo? _logo;

    /// <param name="from">HIBP_MAIL_FROM: an address, or <c>Name &lt;address&gt;</c>.</param>
    /// <param name="service">Whose the mails are; null: nobody says.</param>
    /// <exception cref="BadInputException">It is neither, or logo or templates can't be read, or filled in.</exception>
    public MailComposer(string from, MailService? service = null)
    {
        _service = service ?? new MailService();
        var sender = MailFrom.Parse(from);
        _from = sender with { Name = sender.Name ?? _service.Name };
        _logo = _service.Logo is { } logo && !MailService.IsHttps(logo) ? MailLogo.Read(logo) : null;
        _templates = MailTemplates.Read(_service.Templates);
        if (_service.Templates is not null)
            TryOut();
    }

    /// <summary>Makes the mail of one notification.</summary>
    /// <param name="notification">To whom, and of what: a domain's where it has a domain.</param>
    /// <param name="breach">What is told of; its metadata may be nothing but a name.</param>
    /// <param name="domainAccounts">The domain's accounts in the breach, as addresses or as aliases of the
    /// domain; only the first <see cref="MaxAttachedAccounts"/> are attached. Null or empty: nothing is
    /// attached.</param>
    /// <param name="complete">Whether those are all of them.</param>
    /// <exception cref="BadInputException">The subscriber's address can't be mailed to.</exception>
    public OutgoingMail Compose(
        Notification notification, Breach breach, IReadOnlyList<string>? domainAccounts, bool complete, DateTimeOffset date)
    {
        if (!MailSyntax.IsAddress(notification.Email))
            throw new BadInputException(
                $"the subscriber's address of notification {notification.Id} is not one that a mail can be sent to");

        var parts = Write(
            notification, breach, domainAccounts, complete, out var csv, _logo is null ? _service.Logo : "cid:" + MailLogo.ContentId);
        return Compose(
            notification.Id, $"hibp-{notification.Id}-{Fingerprint(notification, breach)}", notification.Email, parts, date, csv,
            notification.Domain);
    }

    /// <summary>What the mail of a notification says, without an attachment.</summary>
    public MailParts Read(Notification notification, Breach breach) => Write(
        notification, breach, null, complete: false, out _,
        _logo is null ? _service.Logo : $"data:{_logo.Type};base64,{Convert.ToBase64String(_logo.Content)}");

    /// <summary>Makes a mail that says that mails arrive; another one each time.</summary>
    /// <exception cref="BadInputException">It is no address that can be mailed to.</exception>
    public OutgoingMail ComposeTest(string to, DateTimeOffset date)
    {
        if (!MailSyntax.IsAddress(to))
            throw new BadInputException("that is not an address that a mail can be sent to");
        const string Says = "Whoever gets this gets breach notifications: the mail server takes mails from here, and delivers them.";
        var parts = new MailParts(
            "Test of breach notifications", Says + "\n", $"<!doctype html>\n<html lang=\"en\"><p>{Says}</p></html>\n");
        return Compose(0, $"hibp-test-{Guid.NewGuid():N}", to, parts, date, csv: null, domain: null);
    }

    private OutgoingMail Compose(
        long number, string id, string to, MailParts parts, DateTimeOffset date, byte[]? csv, string? domain)
    {
        // Boundaries with "=_" can't occur in quoted-printable or base64, and the same ones make the same bytes.
        var alternative = new MultipartAlternative { Boundary = $"=_{id}-text" };
        alternative.Add(Text("plain", parts.Text));
        alternative.Add(Html(parts.Html, id));
        MimeEntity body = alternative;
        if (csv is not null)
        {
            body = new Multipart("mixed") { Boundary = $"=_{id}-mail" };
            ((Multipart)body).Add(alternative);
            ((Multipart)body).Add(Attachment(csv, FileName(domain!)));
        }
        using var message = new MimeMessage
        {
            MessageId = $"{id}@{_from.Domain}",
            Date = date.ToUniversalTime(),
            // MimeKit writes it anyway, but signs only what is set.
            MimeVersion = new Version(1, 0),
            Body = body,
        };
        message.From.Add(new MailboxAddress(_from.Name is null ? null : MailText.OneLine(_from.Name), _from.Address));
        message.To.Add(new MailboxAddress(null, to));
        // RFC 3834, and what Exchange and older auto-responders look at: no absence note may answer this.
        message.Headers.Add("Auto-Submitted", "auto-generated");
        message.Headers.Add("X-Auto-Response-Suppress", "All");
        message.Headers.Add(HeaderId.Precedence, "bulk");
        if (_service.UnsubscribeLink is { } unsubscribe)
            message.Headers.Add(HeaderId.ListUnsubscribe, $"<{unsubscribe}>");
        Fold(message, HeaderId.From, message.From.ToString());
        Fold(message, HeaderId.Subject, MailText.OneLine(parts.Subject));
        _service.Signer?.Sign(message, Format, date);
        var content = new MemoryStream();
        message.WriteTo(Format, content);
        return new OutgoingMail(number, _from.Address, to, content.ToArray());
    }

    /// <summary>Fills templates of one's own in with all there can be, and with the least: what is wrong with them is told now.</summary>
    private void TryOut()
    {
        var person = new Notification { Id = 0, Number = 1, Email = "somebody@example.com", Accounts = 1 };
        var company = person with { Domain = "example.com", Accounts = 2 };
        var full = new Breach
        {
            Name = "Adobe",
            Metadata = new BreachMetadata
            {
                Title = "Adobe",
                Domain = "adobe.com",
                BreachDate = new DateOnly(2013, 10, 4),
                Description = "What happened.",
                DataClasses = ["Passwords"],
            },
        };
        foreach (var breach in (Breach[])[full, full with { Metadata = new BreachMetadata { Flags = BreachFlags.Verified } }])
        {
            _ = Write(person, breach, null, complete: false, out _, "logo");
            _ = Write(company, breach, ["+a", "b"], complete: true, out _, null);
            _ = Write(company, breach, ["a"], complete: false, out _, "logo");
        }
    }

    private MailParts Write(
        Notification notification, Breach breach, IReadOnlyList<string>? domainAccounts, bool complete, out byte[]? csv, string? logo)
    {
        csv = null;
        var title = Shown(breach.Metadata.Title) ?? Shown(breach.Name) ?? "a breach without a name";
        var values = Values(notification, breach.Metadata, title);
        values["service"] = _service.Name;
        values["noService"] = _service.Name is null;
        values["address"] = _service.Address;
        values["contact"] = _service.Contact;
        values["footer"] = (_service.Name ?? _service.Address ?? _service.Contact) is not null;
        values["unsubscribe"] = _service.UnsubscribeAddress;
        values["logo"] = logo;
        if (notification.Domain is null)
        {
            return new MailParts(
                $"Your email address is in leaked data: {title}", Wrap(_templates.IndividualText.Render(values)),
                _templates.IndividualHtml.Render(values));
        }
        var attached = Math.Min(domainAccounts?.Count ?? 0, MaxAttachedAccounts);
        var isWhole = complete && attached == domainAccounts?.Count;
        var marked = 0;
        if (attached > 0)
            csv = Csv(domainAccounts!.Take(attached), notification.Domain, out marked);
        values["attached"] = attached > 0 && isWhole;
        values["attachedPart"] = attached > 0 && !isWhole ? $"the first {Number(attached)} of {Number(notification.Accounts)}" : "";
        values["marked"] = marked > 0;
        return new MailParts(
            $"{Count(notification.Accounts)} of {notification.Domain} in leaked data: {title}", Wrap(_templates.DomainText.Render(values)),
            _templates.DomainHtml.Render(values));
    }

    private static Dictionary<string, object?> Values(Notification notification, BreachMetadata metadata, string title)
    {
        var site = Shown(metadata.Domain);
        var flags = metadata.Flags;
        var description = metadata.Description is null
            ? [] : HtmlText.Paragraphs(MailText.Shorten(metadata.Description, MaxDescriptionLength));
        return new Dictionary<string, object?>
        {
            ["title"] = title,
            ["site"] = site,
            ["date"] = metadata.BreachDate?.ToString("d MMMM yyyy", CultureInfo.InvariantCulture),
            ["happened"] = description.Count > 0,
            ["description"] = description,
            ["exposed"] = metadata.DataClasses.Count > 0,
            ["dataClasses"] = metadata.DataClasses.Take(MaxDataClasses).Select(Shown).OfType<string>().ToList(),
            ["noted"] = Advice.Notes(flags).Count > 0,
            ["notes"] = Advice.Notes(flags),
            ["steps"] = notification.Domain is null ? Advice.ForPerson(metadata, title, site) : Advice.ForDomain(metadata, title, site),
            ["email"] = notification.Email,
            ["domain"] = notification.Domain,
            ["count"] = Count(notification.Accounts),
            ["are"] = notification.Accounts == 1 ? "is" : "are",
        };
    }

    private static string? Shown(string? text) =>
        text is not null && MailText.OneLine(text) is { Length: > 0 } line ? MailText.Shorten(line, MaxTitleLength) : null;

    private static string Number(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    private static string Count(long accounts) => accounts == 1 ? "1 email address" : $"{Number(accounts)} email addresses";

    // What makes a notification unique, apart from its number, which a database made anew begins again.
    private static string Fingerprint(Notification notification, Breach breach)
    {
        var what = string.Join(
            '\n', notification.Domain is null ? "individual" : "domain", notification.Email, notification.Domain,
            breach.Name.ToLowerInvariant());
        return Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(what)).AsSpan(0, 8));
    }

    /// <summary>
    /// A spreadsheet takes a cell that begins with = + - @ as a formula, and an alias may begin with + or -:
    /// such a cell gets an apostrophe in front, which spreadsheets take as "this is text", and the mail says
    /// so.
    /// </summary>
    private static byte[] Csv(IEnumerable<string> accounts, string domain, out int marked)
    {
        marked = 0;
        var csv = new StringBuilder("email\r\n");
        foreach (var account in accounts)
        {
            var cell = MailText.OneLine(account.Contains('@') ? account : $"{account}@{domain}");
            if (cell.Length > 0 && "=+-@".Contains(cell[0]))
            {
                csv.Append('\'');
                marked++;
            }
            // No account holds a quote or a comma; if one ever did, it must not make a cell of its own.
            csv.Append(cell.Replace("\"", "").Replace(",", "")).Append(CrLf);
        }
        return Encoding.UTF8.GetBytes(csv.ToString());
    }

    private static string FileName(string domain) =>
        $"{string.Concat(domain.Select(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' ? c : '-'))}-accounts.csv";

    /// <summary>Sets what may need encoded words: properties of a message encode in words that are too long.</summary>
    private static void Fold(MimeMessage message, HeaderId id, string value) =>
        message.Headers[message.Headers.IndexOf(id)].SetValue(Format, Encoding.UTF8, value);

    private MimeEntity Html(string html, string id)
    {
        var text = Text("html", html);
        // A template of one's own may leave the logo out.
        if (_logo is null || !html.Contains("cid:" + MailLogo.ContentId, StringComparison.Ordinal))
            return text;
        var related = new Multipart("related") { Boundary = $"=_{id}-html" };
        related.ContentType.Parameters.Add("type", "text/html");
        related.Add(text);
        related.Add(new MimePart(_logo.Type)
        {
            Content = new MimeContent(new MemoryStream(_logo.Content)),
            ContentTransferEncoding = ContentEncoding.Base64,
            ContentId = MailLogo.ContentId,
            ContentDisposition = new ContentDisposition(ContentDisposition.Inline),
        });
        return related;
    }

    private static MimePart Attachment(byte[] csv, string name)
    {
        var attachment = new MimePart("text", "csv")
        {
            Content = new MimeContent(new MemoryStream(csv)),
            ContentTransferEncoding = ContentEncoding.Base64,
            ContentDisposition = new ContentDisposition(ContentDisposition.Attachment) { FileName = name },
        };
        attachment.ContentType.Parameters.Add("charset", "utf-8");
        attachment.ContentType.Parameters.Add("header", "present");
        return attachment;
    }

    private static TextPart Text(string subtype, string text) => new(subtype)
    {
        ContentType = { Charset = "utf-8" },
        Content = new MimeContent(new MemoryStream(QuotedPrintable(text)), ContentEncoding.QuotedPrintable),
        ContentTransferEncoding = ContentEncoding.QuotedPrintable,
    };

    /// <summary>Encodes text as UTF-8 in quoted-printable, each line end (LF or CRLF) as CRLF, with one at the end.</summary>
    internal static byte[] QuotedPrintable(string text)
    {
        using var encoded = new MemoryStream();
        using (var filtered = new FilteredStream(encoded))
        {
            // At most 76 characters a line; MimeKit adds up to 3 to its maximum for a blank at a line's end.
            filtered.Add(new EncoderFilter(new QuotedPrintableEncoder(73)));
            // Programs that deliver into mbox files rewrite a "From " at a line's start.
            filtered.Add(new ArmoredFromFilter());
            filtered.Add(new Unix2DosFilter());
            filtered.Write(Encoding.UTF8.GetBytes(text.ReplaceLineEndings(CrLf).TrimEnd('\r', '\n') + CrLf));
            filtered.Flush();
            return encoded.ToArray();
        }
    }

    /// <summary>Breaks long lines at spaces; what follows on a list's item stands under its text.</summary>
    private static string Wrap(string text)
    {
        var wrapped = new StringBuilder(text.Length + text.Length / 32);
        foreach (var line in text.Split('\n'))
        {
            var indent = line.StartsWith("- ", StringComparison.Ordinal) ? "  " : "";
            var column = 0;
            foreach (var word in line.Split(' '))
            {
                var fits = column + 1 + word.Length <= TextWidth;
                wrapped.Append(column == 0 ? "" : fits ? " " : "\n" + indent).Append(word);
                column = column == 0 ? word.Length : fits ? column + 1 + word.Length : indent.Length + word.Length;
            }
            wrapped.Append('\n');
        }
        return wrapped.ToString();
    }
}

/// <summary>What a mail says.</summary>
/// <param name="Text">For who reads plain text, in lines of up to 76 characters where its words allow that.</param>
public sealed record MailParts(string Subject, string Text, string Html);
