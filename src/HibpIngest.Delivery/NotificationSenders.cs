namespace HibpIngest.Delivery;

public static class NotificationSenders
{
    private const string Expected = "HIBP_MAIL: expected pickup:DIR or smtp://user:password@host:port?tls=none|starttls|implicit "
        + "(user, port and tls as needed; : / @ ? # % in user and password percent-encoded)";

    /// <summary>
    /// Creates the sender for <c>pickup:DIR</c> or <c>smtp://user:password@host:port?tls=none|starttls|implicit</c>. Default of tls:
    /// implicit on port 465, none on port 25, else starttls. Default port: 465 for implicit, 25 for none, 587 for starttls. Credentials are
    /// sent unencrypted only if tls=none is explicit.
    /// </summary>
    /// <param name="time">Clock for timeouts; if null, the system's.</param>
    /// <exception cref="BadInputException">The setting has another form; the message contains no part of it that could be
    /// secret.</exception>
    public static INotificationSender Create(string setting, TimeProvider? time = null)
    {
        setting = setting.Trim();
        if (setting.StartsWith("pickup:", StringComparison.OrdinalIgnoreCase))
        {
            var folder = setting["pickup:".Length..].Trim();
            return folder.Length > 0 && !folder.Contains('\0')
                ? new PickupSender(folder) : throw new BadInputException($"{Expected}, found pickup: without a folder");
        }
        return new SmtpSender(ParseSmtp(setting), time ?? TimeProvider.System);
    }

    internal static SmtpServer ParseSmtp(string setting)
    {
        if (!setting.StartsWith("smtp://", StringComparison.OrdinalIgnoreCase) || !Uri.TryCreate(setting, UriKind.Absolute, out var uri))
            throw new BadInputException($"{Expected}, found another form (not shown: it may contain a password)");
        if (uri.Host.Length == 0 || uri.HostNameType is not (UriHostNameType.Dns or UriHostNameType.IPv4 or UriHostNameType.IPv6))
            throw new BadInputException($"{Expected}, found no host");
        if (uri.AbsolutePath is not ("" or "/") || uri.Fragment.Length > 0)
            throw new BadInputException($"{Expected}, found a path or fragment after host and port");

        SmtpTls? tls = null;
        foreach (var option in uri.Query.TrimStart('?').Split('&', StringSplitOptions.RemoveEmptyEntries))
        {
            if (tls is not null || !option.StartsWith("tls=", StringComparison.OrdinalIgnoreCase))
                throw new BadInputException($"{Expected}, found an unknown option, or tls= more than once");
            tls = option["tls=".Length..].ToLowerInvariant() switch
            {
                "none" => SmtpTls.None,
                "starttls" => SmtpTls.StartTls,
                "implicit" => SmtpTls.Implicit,
                _ => throw new BadInputException($"{Expected}, found another tls"),
            };
        }
        // Uri reports port 25 for smtp: without a port, so only the text shows whether one was given.
        var hostAndPort = uri.OriginalString["smtp://".Length..].Split('/', '?', '#')[0];
        hostAndPort = hostAndPort[(hostAndPort.LastIndexOf('@') + 1)..];
        var hasPort = hostAndPort[(hostAndPort.LastIndexOf(']') + 1)..].Contains(':');
        if (hasPort && uri.Port is < 1 or > 65535)
            throw new BadInputException($"{Expected}, found no port from 1 to 65535");

        var user = uri.UserInfo.Length == 0 ? null : uri.UserInfo.Split(':', 2);
        if (user is not null && (user.Length != 2 || user[0].Length == 0))
            throw new BadInputException($"{Expected}, found a user without a password, or a password without a user");
        var isExplicit = tls is not null;
        tls ??= (hasPort ? uri.Port : 587) switch { 465 => SmtpTls.Implicit, 25 => SmtpTls.None, _ => SmtpTls.StartTls };
        if (user is not null && tls == SmtpTls.None && !isExplicit)
            throw new BadInputException(
                "HIBP_MAIL has a password, and on port 25 it would go out unencrypted; add ?tls=starttls or, if that is meant, ?tls=none");
        return new SmtpServer
        {
            Host = uri.IdnHost,
            Port = hasPort ? uri.Port : tls switch { SmtpTls.Implicit => 465, SmtpTls.None => 25, _ => 587 },
            Tls = tls.Value,
            User = user is null ? null : Uri.UnescapeDataString(user[0]),
            Password = user is null ? null : Uri.UnescapeDataString(user[1]),
        };
    }
}
