namespace HibpIngest.Passwords;

public enum AppendConfirmation
{
    /// <summary>It is confirmed, by this one or an earlier one.</summary>
    Confirmed = 0,

    /// <summary>The subscription has no such transaction.</summary>
    NotFound,

    /// <summary>Somebody else was changing it, and has not confirmed it: to be tried again.</summary>
    Busy,
}
