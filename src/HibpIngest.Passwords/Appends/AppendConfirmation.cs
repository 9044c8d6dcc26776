namespace HibpIngest.Passwords.Appends;

public enum AppendConfirmation
{
    /// <summary>The transaction is confirmed, by this call or an earlier one.</summary>
    Confirmed = 0,

    /// <summary>The subscription has no transaction of this id.</summary>
    NotFound,

    /// <summary>Another caller changed the transaction at the same time without confirming it: retry.</summary>
    Busy,
}
