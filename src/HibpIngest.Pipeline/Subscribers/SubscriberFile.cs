using CsvHelper;

namespace HibpIngest.Pipeline.Subscribers;

/// <summary>
/// Reads subscribers from CSV with the header columns <c>email</c> and <c>domain</c>, in any order and case; other columns are ignored. An
/// empty or missing domain subscribes the address to itself. UTF-8 (with or without BOM) or UTF-16 with BOM; comma; quotes as needed; any
/// line end.
/// </summary>
public static class SubscriberFile
{
    /// <summary>Maximum number of subscribers in one file: some 250 MB while it is read.</summary>
    public const int MaxSubscribers = 1_000_000;

    // An address has at most 255 characters; other columns may be longer.
    private const int MaxLineBytes = 64 * 1024;

    /// <summary>Returns the distinct subscriptions in the order of the file, trimmed and in lower case. The stream stays open.</summary>
    /// <param name="onBadLine">Called with the number and the fault of each bad line, never with its content; the line is skipped. Null:
    /// the first bad line is an error.</param>
    /// <exception cref="BadInputException">The header is wrong, the file is too large, or a line is bad; the message has its number and the
    /// fault, never its content.</exception>
    public static IReadOnlyList<Subscription> Read(Stream csv, Action<long, string>? onBadLine = null)
    {
        var options = new CsvReaderOptions
        {
            Separator = ',',
            HasHeader = false,
            TrackLineNumbers = true,
            TrimWhitespace = true,
            // No address contains a line break, so a lost quote can't swallow the lines after it.
            AllowLineBreaksInQuotes = false,
            MalformedData = onBadLine is null ? CsvMalformedDataHandling.Throw : CsvMalformedDataHandling.Skip,
            OnMalformedRecord = onBadLine is null ? null : record => onBadLine(record.LineNumber, "the quotes are wrong"),
            MaxRecordSize = MaxLineBytes,
            IncludeValuesInExceptions = false,
        };
        using var reader = CsvReader.Create(csv, options, leaveOpen: true);
        try
        {
            return Read(reader, onBadLine);
        }
        catch (CsvFormatException e)
        {
            // The inner exception is dropped, so that the file's content can't be passed on with it.
            throw Bad(e.LineNumber > 0 ? e.LineNumber : reader.LineNumber + 1, "the quotes are wrong, or the line has more than "
                + $"{MaxLineBytes:N0} bytes");
        }
    }

    private static List<Subscription> Read(CsvReader reader, Action<long, string>? onBadLine)
    {
        var subscriptions = new List<Subscription>();
        var known = new HashSet<Subscription>();
        int? email = null;
        var domain = -1;
        var columns = 0;
        while (reader.Read())
        {
            var line = reader.LineNumber;
            if (email is null)
            {
                email = Column(reader, "email") ?? throw Bad(line, "the header email,domain is expected here");
                domain = Column(reader, "domain") ?? -1;
                columns = reader.FieldCount;
                continue;
            }
            if (IsBlank(reader) && reader.FieldCount <= columns)
                continue;
            var (subscription, fault) = Parse(reader, email.Value, domain, columns);
            if (subscription is null)
            {
                if (onBadLine is null)
                    throw Bad(line, fault);
                onBadLine(line, fault);
                continue;
            }
            if (!known.Add(subscription))
                continue;
            if (subscriptions.Count == MaxSubscribers)
                throw Bad(line, $"more than the {MaxSubscribers:N0} subscribers that one file may hold; split it");
            subscriptions.Add(subscription);
        }
        return email is not null ? subscriptions
            : throw new BadInputException("the subscriber file is empty: expected the header email,domain as its first line");
    }

    private static (Subscription? Subscription, string Fault) Parse(CsvReader row, int email, int domain, int columns)
    {
        if (row.FieldCount > columns)
            return (null, $"it has {row.FieldCount} fields, and the header {columns}");
        var address = Field(row, email);
        if (address.Length == 0)
            return (null, "the email is missing");
        if (!AccountRules.TryParse(address, out _, out var broken))
            return (null, $"the email is not an address{Reason(broken)}");
        var subscribed = Field(row, domain) is { Length: > 0 } text ? text : null;
        if (subscribed is not null && !AccountRules.TryParseDomain(subscribed, out _, out broken))
            return (null, $"the domain is not a domain{Reason(broken)}");
        return (new Subscription(address, subscribed), "");
    }

    private static int? Column(CsvReader header, string name)
    {
        int? found = null;
        for (var i = 0; i < header.FieldCount; i++)
        {
            if (!header.GetString(i).Trim().Equals(name, StringComparison.OrdinalIgnoreCase))
                continue;
            found = found is null ? i : throw Bad(header.LineNumber, $"the header has the column {name} twice");
        }
        return found;
    }

    private static bool IsBlank(CsvReader row) => Enumerable.Range(0, row.FieldCount).All(i => Field(row, i).Length == 0);

    private static string Field(CsvReader row, int column) =>
        column >= 0 && column < row.FieldCount ? row.GetString(column).Trim().ToLowerInvariant() : "";

    private static string Reason(AccountRule? broken) => broken is null ? "" : $" (it breaks the rule {broken})";

    private static BadInputException Bad(long line, string what) => new($"the subscriber file, line {line}: {what}; nothing was read");
}
