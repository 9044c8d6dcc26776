namespace HibpIngest.Storage.Azure.Tables;

/// <summary>Times and bytes as text properties: a service returns its own time type in a form of its own.</summary>
internal static class TableText
{
    public static string Of(DateTimeOffset time) => time.UtcDateTime.ToString("u", CultureInfo.InvariantCulture);

    public static DateTimeOffset? TimeOf(TableEntity entity, string name) =>
        DateTimeOffset.TryParse(entity[name] as string, CultureInfo.InvariantCulture, out var time) ? time : null;

    public static byte[]? BytesOf(TableEntity entity, string name)
    {
        if (entity[name] is not string text)
            return null;
        var bytes = new byte[text.Length / 4 * 3];
        return Convert.TryFromBase64String(text, bytes, out var length) ? bytes[..length] : null;
    }
}
