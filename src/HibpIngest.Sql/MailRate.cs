namespace HibpIngest.Sql;

/// <summary>The rate of the whole system's mails, as time that is reserved.</summary>
internal static class MailRate
{
    /// <summary>
    /// Nobody reserves time that lies further ahead: it is a clock's that was set back since, or of a database that
    /// was restored.
    /// </summary>
    public static readonly TimeSpan Furthest = TimeSpan.FromHours(1);

    /// <summary>
    /// What so many mails take, in whole milliseconds; at least one, and never as much as
    /// <see cref="Furthest"/>.
    /// </summary>
    public static TimeSpan Of(int mails, double perSecond) =>
        TimeSpan.FromMilliseconds(Math.Clamp(Math.Ceiling(mails * 1000 / perSecond), 1, (Furthest / 2).TotalMilliseconds));
}
