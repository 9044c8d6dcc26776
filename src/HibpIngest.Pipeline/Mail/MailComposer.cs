using MimeKit;
using MimeKit.Encodings;
using MimeKit.IO;
using MimeKit.IO.Filters;

namespace HibpIngest.Pipeline.Mail;

/// <summary>
/// Composes mails: plain text and HTML from the files in Templates and, for a domain, its accounts as CSV. The same notification or
/// command, breaches, accounts and date produce the same bytes, Message-ID included, so that a second copy can be recognised. Thread-safe.
/// </summary>
public sealed class MailComposer
{
    public const int MaxAttachedAccounts = 10_000;

    /// <summary>Maximum length of the description shown, in UTF-16 units; real ones stay below 2,000.</summary>
    public const int MaxDescriptionLength = 8_000;

    private const int MaxTitleLength = 120;
    private const int MaxDataClasses = 100;
    private const int MaxBreaches = 200;
    private const int TextWidth = 76;
    private const string CrLf = "\r\n";

    // RFC 2047: an encoded word has at most 75 characters; MimeKit exceeds its limit by some.
    private static readonly FormatOptions Format = new() { NewLineFormat = NewLineFormat.Dos, MaxLineLength = 60 };

    private readonly MailTemplates _templates;
    private readonly MailFrom _from;
    private readonly MailService _service;
    private readonly MailLogo? _logo;
    private readonly MailLinks? _links;

    /// <param name="from">HIBP_MAIL_FROM: an address, or <c>Name &lt;address&gt;</c>.</param>
    /// <param name="service">Operator of the service, shown in the mails; null if unnamed.</param>
    /// <param name="links">The links to unsubscribe; if null, mails have none.</param>
    /// <exception cref="BadInputException">The sender, the logo or a template is invalid, or can't be read.</exception>
    public MailComposer(string from, MailService? service = null, MailLinks? links = null)
    {
        _links = links;
        _service = service ?? new MailService();
        var sender = MailFrom.Parse(from);
        _from = sender with { Name = sender.Name ?? _service.Name };
        _logo = _service.Logo is { } logo && !MailService.IsHttps(logo) ? MailLogo.Read(logo) : null;
        _templates = MailTemplates.Read(_service.Templates);
        if (_service.Templates is not null)
            RenderSamples();
    }

    /// <param name="domainAccounts">The domain's accounts in the breach, as addresses or aliases; only the first
    /// <see cref="MaxAttachedAccounts"/> are attached. Null or empty: nothing is attached.</param>
    /// <exception cref="BadInputException">The subscriber's address can't be mailed to.</exception>
    public OutgoingMail Compose(
        Notification notification, Breach breach, IReadOnlyList<string>? domainAccounts, bool complete, DateTimeOffset date)
    {
        if (!MailSyntax.IsAddress(notification.Email))
            throw new BadInputException(
                $"notification {notification.Id}: the subscriber's address is not a valid mail address; remove the subscription");

        var parts = Write(
            notification, breach, domainAccounts, complete, out var csv, Logo);
        return Compose(
            notification.Id.ToString(CultureInfo.InvariantCulture), $"hibp-{notification.Id}-{Fingerprint(notification, breach)}",
            notification.Email, parts, date, Unsubscribe(notification.Subscription), csv, notification.Domain);
    }

    /// <summary>Composes a short mail to a person.</summary>
    /// <param name="command">Id of the command that causes the mail.</param>
    /// <exception cref="BadInputException">The address can't be mailed to.</exception>
    public OutgoingMail Compose(Guid command, MailDue due, PersonMail content, DateTimeOffset date)
    {
        var values = Values(due.Email, due.Subscription, Logo);
        values["heading"] = content.Heading;
        values["before"] = content.Before;
        values["link"] = content.Link;
        values["button"] = content.Button;
        values["after"] = content.After;
        values["why"] = content.Why;
        return Compose(command, due, new MailParts(
            content.Subject, Wrap(_templates.MessageText.Render(values)), _templates.MessageHtml.Render(values)), date);
    }

    /// <summary>Composes the mail that confirms a subscription.</summary>
    /// <param name="command">Id of the command that causes the mail.</param>
    /// <param name="breaches">The breaches that the address is in; the first <see cref="MaxBreaches"/> are listed.</param>
    /// <exception cref="BadInputException">The address can't be mailed to.</exception>
    public OutgoingMail ComposeWelcome(Guid command, MailDue due, IReadOnlyList<Breach> breaches, DateTimeOffset date)
    {
        var values = Values(due.Email, due.Subscription, Logo);
        values["breaches"] = breaches.Take(MaxBreaches).Select(Describe).ToList();
        values["found"] = breaches.Count > 0;
        values["none"] = breaches.Count == 0;
        values["count"] = breaches.Count == 1 ? "1 breach" : $"{Number(breaches.Count)} breaches";
        values["more"] = breaches.Count > MaxBreaches ? Number(breaches.Count - MaxBreaches) : "";
        return Compose(command, due, new MailParts(
            breaches.Count == 0 ? "You are subscribed to breach notifications"
                : $"You are subscribed: your address is in {values["count"]}",
            Wrap(_templates.WelcomeText.Render(values)), _templates.WelcomeHtml.Render(values)), date);
    }

    /// <summary>Returns the content of a notification's mail, without an attachment.</summary>
    public MailParts Read(Notification notification, Breach breach) => Write(
        notification, breach, null, complete: false, out _,
        _logo is null ? _service.Logo : $"data:{_logo.Type};base64,{Convert.ToBase64String(_logo.Content)}");

    /// <summary>Composes a test mail, with a new Message-ID each time.</summary>
    public OutgoingMail ComposeTest(string to, DateTimeOffset date)
    {
        if (!MailSyntax.IsAddress(to))
            throw new BadInputException("ADDRESS: expected an email address, such as me@example.com");
        const string Text = "This address can receive breach notifications: the mail server accepts mails from here, and delivers them.";
        var parts = new MailParts(
            "Test of breach notifications", Text + "\n", $"<!doctype html>\n<html lang=\"en\"><p>{Text}</p></html>\n");
        return Compose("0", $"hibp-test-{Guid.NewGuid():N}", to, parts, date, unsubscribe: null);
    }

    // A mail to a mailbox of a domain that an API key has is about no subscription.
    private string? Unsubscribe(Guid subscription) => subscription == Guid.Empty ? null : _links?.Unsubscribe(subscription);

    private string? Logo => _logo is null ? _service.Logo : "cid:" + MailLogo.ContentId;

    private OutgoingMail Compose(Guid command, MailDue due, MailParts parts, DateTimeOffset date) => MailSyntax.IsAddress(due.Email)
        ? Compose($"{command:N}", $"hibp-{command:N}", due.Email, parts, date, Unsubscribe(due.Subscription))
        : throw new BadInputException("the address of a subscription is not a valid mail address; remove the subscription");

    private OutgoingMail Compose(
        string name, string id, string to, MailParts parts, DateTimeOffset date, string? unsubscribe, byte[]? csv = null,
        string? domain = null)
    {
        // Boundaries with "=_" can't occur in quoted-printable or base64; a fixed id keeps the bytes the same.
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
            // MimeKit writes the header anyway, but signs only headers that are set.
            MimeVersion = new Version(1, 0),
            Body = body,
        };
        message.From.Add(new MailboxAddress(_from.Name is null ? null : MailText.OneLine(_from.Name), _from.Address));
        message.To.Add(new MailboxAddress(null, to));
        // RFC 3834, and the headers that Exchange and older auto-responders check: no absence note may answer this mail.
        message.Headers.Add("Auto-Submitted", "auto-generated");
        message.Headers.Add("X-Auto-Response-Suppress", "All");
        message.Headers.Add(HeaderId.Precedence, "bulk");
        string[] ways = [.. ((string?[])[unsubscribe, _service.UnsubscribeLink]).OfType<string>().Select(link => $"<{link}>")];
        if (ways.Length > 0)
            message.Headers.Add(HeaderId.ListUnsubscribe, string.Join(", ", ways));
        // RFC 8058: a mail program may post to the link at once.
        if (unsubscribe is not null)
            message.Headers.Add(HeaderId.ListUnsubscribePost, "List-Unsubscribe=One-Click");
        Fold(message, HeaderId.From, message.From.ToString());
        Fold(message, HeaderId.Subject, MailText.OneLine(parts.Subject));
        _service.Signer?.Sign(message, Format, date);
        var content = new MemoryStream();
        message.WriteTo(Format, content);
        return new OutgoingMail(name, _from.Address, to, content.ToArray());
    }

    /// <summary>Renders custom templates with all values and with the fewest, so that errors in them are reported at once.</summary>
    private void RenderSamples()
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
        var due = new MailDue(Guid.Empty, person.Email);
        _ = Compose(Guid.Empty, due, PersonMail.Verify(due.Email, "https://example.com/"), DateTimeOffset.UnixEpoch);
        _ = ComposeWelcome(Guid.Empty, due, [], DateTimeOffset.UnixEpoch);
        _ = ComposeWelcome(Guid.Empty, due, [full], DateTimeOffset.UnixEpoch);
    }

    private MailParts Write(
        Notification notification, Breach breach, IReadOnlyList<string>? domainAccounts, bool complete, out byte[]? csv, string? logo)
    {
        csv = null;
        var title = Shown(breach.Metadata.Title) ?? Shown(breach.Name) ?? "a breach without a name";
        var values = Values(notification.Email, notification.Subscription, logo);
        Add(values, notification, breach.Metadata, title);
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

    private Dictionary<string, object?> Values(string email, Guid subscription, string? logo) => new()
    {
        ["email"] = email,
        ["service"] = _service.Name,
        ["noService"] = _service.Name is null,
        ["address"] = _service.Address,
        ["contact"] = _service.Contact,
        ["footer"] = (_service.Name ?? _service.Address ?? _service.Contact) is not null,
        ["unsubscribe"] = _service.UnsubscribeAddress,
        ["unsubscribeLink"] = Unsubscribe(subscription),
        ["logo"] = logo,
    };

    private static string Describe(Breach breach)
    {
        var (metadata, line) = (breach.Metadata, new StringBuilder(Shown(breach.Metadata.Title) ?? Shown(breach.Name)));
        if (metadata.BreachDate is { } date)
            line.Append(CultureInfo.InvariantCulture, $" ({date:d MMMM yyyy})");
        if (metadata.DataClasses.Count > 0)
            line.Append(": ").AppendJoin(", ", metadata.DataClasses.Take(MaxDataClasses).Select(Shown).OfType<string>());
        if (metadata.Flags.HasFlag(BreachFlags.Sensitive))
            line.Append("; sensitive: nobody else can look it up");
        if (!metadata.Flags.HasFlag(BreachFlags.Verified))
            line.Append("; unverified");
        return line.ToString();
    }

    private static void Add(Dictionary<string, object?> values, Notification notification, BreachMetadata metadata, string title)
    {
        var site = Shown(metadata.Domain);
        var flags = metadata.Flags;
        var description = metadata.Description is null
            ? [] : HtmlText.Paragraphs(MailText.Shorten(metadata.Description, MaxDescriptionLength));
        values["title"] = title;
        values["site"] = site;
        values["date"] = metadata.BreachDate?.ToString("d MMMM yyyy", CultureInfo.InvariantCulture);
        values["happened"] = description.Count > 0;
        values["description"] = description;
        values["exposed"] = metadata.DataClasses.Count > 0;
        values["dataClasses"] = metadata.DataClasses.Take(MaxDataClasses).Select(Shown).OfType<string>().ToList();
        values["noted"] = Advice.Notes(flags).Count > 0;
        values["notes"] = Advice.Notes(flags);
        values["steps"] = notification.Domain is null ? Advice.ForPerson(metadata, title, site) : Advice.ForDomain(metadata, title, site);
        values["domain"] = notification.Domain;
        values["count"] = Count(notification.Accounts);
        values["are"] = notification.Accounts == 1 ? "is" : "are";
    }

    private static string? Shown(string? text) =>
        text is not null && MailText.OneLine(text) is { Length: > 0 } line ? MailText.Shorten(line, MaxTitleLength) : null;

    private static string Number(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    private static string Count(long accounts) => accounts == 1 ? "1 email address" : $"{Number(accounts)} email addresses";

    // The fields that make a notification unique, except for its number, which starts again in a new database.
    private static string Fingerprint(Notification notification, Breach breach)
    {
        var what = string.Join(
            '\n', notification.Domain is null ? "individual" : "domain", notification.Email, notification.Domain,
            breach.Name.ToLowerInvariant());
        return Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(what)).AsSpan(0, 8));
    }

    // An alias may begin with + or -. The mail says what the apostrophe is.
    private static byte[] Csv(IEnumerable<string> accounts, string domain, out int marked)
    {
        marked = 0;
        var csv = new StringBuilder("email\r\n");
        foreach (var account in accounts)
        {
            var cell = MailText.OneLine(account.Contains('@') ? account : $"{account}@{domain}");
            if (CsvText.IsFormula(cell))
            {
                csv.Append('\'');
                marked++;
            }
            // No account contains a quote or a comma; removed nevertheless, so that none could ever start a cell of its own.
            csv.Append(cell.Replace("\"", "").Replace(",", "")).Append(CrLf);
        }
        return Encoding.UTF8.GetBytes(csv.ToString());
    }

    private static string FileName(string domain) =>
        $"{string.Concat(domain.Select(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' ? c : '-'))}-accounts.csv";

    /// <summary>Sets a header that may need encoded words. The message's properties would encode it in words that are too long.</summary>
    private static void Fold(MimeMessage message, HeaderId id, string value) =>
        message.Headers[message.Headers.IndexOf(id)].SetValue(Format, Encoding.UTF8, value);

    private MimeEntity Html(string html, string id)
    {
        var text = Text("html", html);
        // A custom template may omit the logo.
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

    internal static byte[] QuotedPrintable(string text)
    {
        using var encoded = new MemoryStream();
        using (var filtered = new FilteredStream(encoded))
        {
            // At most 76 characters a line. MimeKit adds up to 3 to its maximum for a space at the end of a line.
            filtered.Add(new EncoderFilter(new QuotedPrintableEncoder(73)));
            // Mail programs that deliver into mbox files rewrite a "From " at the start of a line.
            filtered.Add(new ArmoredFromFilter());
            filtered.Add(new Unix2DosFilter());
            filtered.Write(Encoding.UTF8.GetBytes(text.ReplaceLineEndings(CrLf).TrimEnd('\r', '\n') + CrLf));
            filtered.Flush();
            return encoded.ToArray();
        }
    }

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

/// <param name="Text">The plain text, in lines of up to 76 characters if its words allow that.</param>
public sealed record MailParts(string Subject, string Text, string Html);
