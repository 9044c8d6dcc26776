namespace HibpIngest;

/// <summary>Keys as settings and files hold them: random bytes in base64.</summary>
public static class KeyText
{
    private const int KeyBytes = 32;

    /// <summary>Returns a new key of 32 bytes.</summary>
    public static string Generate() => Convert.ToBase64String(RandomNumberGenerator.GetBytes(KeyBytes));

    /// <returns>The key's bytes; null if the text is no base64 of at least 32 bytes.</returns>
    public static byte[]? Parse(string text)
    {
        var key = new byte[text.Length];
        return Convert.TryFromBase64String(text.Trim(), key, out var written) && written >= KeyBytes ? key[..written] : null;
    }
}
