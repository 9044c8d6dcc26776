namespace HibpIngest.Storage.Sql;

/// <summary>The mail rate of the whole system, as reserved time.</summary>
internal static class MailRate
{
    /// <summary>
    /// No reservation extends further ahead. A later time stems from a clock that was set back, or from a restored database.
    /// </summary>
    public static readonly TimeSpan Furthest = TimeSpan.FromHours(1);

    /// <summary>
    /// Returns the time that a number of mails takes, in whole milliseconds: at least one, at most half of <see cref="Furthest"/>.
    /// </summary>
    public static TimeSpan Of(int mails, double perSecond) =>
        TimeSpan.FromMilliseconds(Math.Clamp(Math.Ceiling(mails * 1000 / perSecond), 1, (Furthest / 2).TotalMilliseconds));
}
