namespace HibpIngest.Accounts;

/// <summary>An email address that is an account by <see cref="AccountRules"/>.</summary>
/// <param name="Alias">Part before the @, lower-case.</param>
/// <param name="Domain">Part after the @, lower-case.</param>
public readonly record struct Account(string Alias, string Domain)
{
    /// <summary>Returns <c>alias@domain</c>.</summary>
    public string Address => $"{Alias}@{Domain}";

    /// <summary>Doesn't show the address, so that no log line or message does by accident.</summary>
    public override string ToString() => nameof(Account);
}
