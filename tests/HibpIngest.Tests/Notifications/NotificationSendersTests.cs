using HibpIngest.Delivery;

namespace HibpIngest.Tests.Notifications;

public sealed class NotificationSendersTests
{
    [Theory]
    [InlineData("smtp://mail.example.com", "mail.example.com", 587, SmtpTls.StartTls, null, null)]
    [InlineData("SMTP://mail.example.com/", "mail.example.com", 587, SmtpTls.StartTls, null, null)]
    [InlineData("smtp://mail.example.com:465", "mail.example.com", 465, SmtpTls.Implicit, null, null)]
    [InlineData("smtp://mail.example.com:25", "mail.example.com", 25, SmtpTls.None, null, null)]
    [InlineData("smtp://mail.example.com:2525", "mail.example.com", 2525, SmtpTls.StartTls, null, null)]
    [InlineData("smtp://mail.example.com?tls=implicit", "mail.example.com", 465, SmtpTls.Implicit, null, null)]
    [InlineData("smtp://mail.example.com?tls=none", "mail.example.com", 25, SmtpTls.None, null, null)]
    [InlineData("smtp://mail.example.com:25?tls=STARTTLS", "mail.example.com", 25, SmtpTls.StartTls, null, null)]
    [InlineData(
        "smtp://ann%40example.com:p%3Aa%2Fs%25s@mail.example.com:587?tls=starttls", "mail.example.com", 587, SmtpTls.StartTls,
        "ann@example.com", "p:a/s%s")]
    [InlineData("smtp://ann:a:b@mail.example.com", "mail.example.com", 587, SmtpTls.StartTls, "ann", "a:b")]
    [InlineData("smtp://ann:@mail.example.com?tls=none", "mail.example.com", 25, SmtpTls.None, "ann", "")]
    [InlineData("smtp://[::1]:2525?tls=none", "::1", 2525, SmtpTls.None, null, null)]
    [InlineData("smtp://[::1]?tls=none", "::1", 25, SmtpTls.None, null, null)]
    [InlineData("smtp://127.0.0.1:2525?tls=none", "127.0.0.1", 2525, SmtpTls.None, null, null)]
    public void Mail_server_setting_is_parsed(string setting, string host, int port, SmtpTls tls, string? user, string? password)
    {
        var server = NotificationSenders.ParseSmtp(setting);

        Assert.Equal((host, port, tls, user, password), (server.Host, server.Port, server.Tls, server.User, server.Password));
    }

    public static TheoryData<string> Invalid =>
    [
        "pickup:", "mail.example.com", "smtps://ann:hunter2@mail.example.com", "smtp://", "smtp://ann:hunter2@", "smtp://ann:hunter2@:25",
        "smtp://ann:hunter2/x@mail.example.com", "smtp://ann:12/hunter2@mail.example.com", "smtp://ann:12?hunter2@mail.example.com",
        "smtp://ann:12#hunter2@mail.example.com", "smtp://ann@mail.example.com", "smtp://:hunter2@mail.example.com",
        "smtp://mail.example.com:0?tls=none", "smtp://mail.example.com:99999", "smtp://mail.example.com/inbox",
        "smtp://mail.example.com?tls=maybe", "smtp://mail.example.com?tls=none&tls=starttls", "smtp://mail.example.com?password=hunter2",
    ];

    [Theory]
    [MemberData(nameof(Invalid))]
    public void Invalid_mail_setting_is_refused_in_one_line_without_a_secret(string setting)
    {
        var refusal = Assert.Throws<BadInputException>(() => NotificationSenders.Create(setting));

        Assert.StartsWith("HIBP_MAIL: expected pickup:DIR or smtp://", refusal.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", refusal.ToString());
        Assert.DoesNotContain('\n', refusal.Message);
    }

    [Fact]
    public void Password_over_an_unencrypted_connection_requires_tls_none()
    {
        var refusal = Assert.Throws<BadInputException>(() => NotificationSenders.Create("smtp://ann:hunter2@mail.example.com:25"));

        Assert.Contains("unencrypted", refusal.Message);
        Assert.DoesNotContain("hunter2", refusal.Message);
        Assert.Equal(SmtpTls.None, NotificationSenders.ParseSmtp("smtp://ann:hunter2@mail.example.com:25?tls=none").Tls);
    }

    [Fact]
    public async Task Display_name_contains_no_secret()
    {
        await using var sender = NotificationSenders.Create("smtp://ann:hunter2@mail.example.com?tls=implicit");

        Assert.Equal("mail server mail.example.com:465, TLS, with login", sender.DisplayName);
    }
}
