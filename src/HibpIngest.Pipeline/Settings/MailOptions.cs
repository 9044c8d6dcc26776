using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline.Settings;

public sealed class MailOptions
{
    [Range(1, 100_000_000)]
    public int MatchRows { get; set; } = 1_000_000;

    [Range(1, 10_000)]
    public int MailsPerMessage { get; set; } = 100;

    /// <summary>Mails per second for the whole installation, reserved in SQL. A small relay accepts ten without throttling.</summary>
    [Range(0.01, 10_000)]
    public double MailsPerSecond { get; set; } = 10;

    /// <summary>Send sends matched notifications; Hold keeps them until an operator releases them, and overrides the metadata.</summary>
    public NotifyMode Notify { get; set; } = NotifyMode.Send;

    /// <summary>How long a sender's claim on a notification lasts; after that another sender may claim it.</summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan MailClaim { get; set; } = TimeSpan.FromMinutes(10);

    /// <summary>Maximum verification mails an hour for the whole installation; more requests wait.</summary>
    [Range(1, 1_000_000)]
    public int VerifyPerHour { get; set; } = 1_000;

    /// <summary>Sender of the mails, as <see cref="Settings.MailFrom.Parse"/> reads it.</summary>
    [ConfigurationKeyName("MAIL_FROM")]
    public string MailFrom { get; set; } = "notifications@localhost";
}
