using CsvHelper;
using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;

namespace HibpIngest.Pipeline;

/// <summary>
/// Reads subscribers from CSV with the header <c>email,domain</c>, in any order and case; other columns are
/// passed over. An empty domain, or none, subscribes the address to itself. UTF-8 (with or without BOM) or
/// UTF-16 with BOM; comma; quotes as needed; any line end.
/// </summary>
public static class SubscriberFile
{
    /// <summary>Most subscribers in one file: some 250 MB while it is read. More go into several files.</summary>
    public const int MaxSubscribers = 1_000_000;

    // An address has at most 255 characters; other columns may be longer.
    private const int MaxLineBytes = 64 * 1024;

    private static readonly CsvReaderOptions Options = new()
    {
        Separator = ',',
        HasHeader = false,
        TrackLineNumbers = true,
        TrimWhitespace = true,
        // No address holds a line break, and so one lost quote can't swallow the lines after it.
        AllowLineBreaksInQuotes = false,
        MalformedData = CsvMalformedDataHandling.Throw,
        MaxRecordSize = MaxLineBytes,
        IncludeValuesInExceptions = false,
    };

    /// <summary>
    /// The subscriptions in the order of the file, trimmed, lower-case, each once. Nothing is given back unless
    /// all of the file is good. The stream stays open.
    /// </summary>
    /// <exception cref="BadInputException">A line is bad; the message has its number and what is wrong, and
    /// nothing that stands in it.</exception>
    public static IReadOnlyList<Subscription> Read(Stream csv)
    {
        using var reader = CsvReader.Create(csv, Options, leaveOpen: true);
        try
        {
            return Read(reader);
        }
        catch (CsvFormatException e)
        {
            // Without the inner exception, so that nothing that stands in the file goes with it.
            throw Bad(e.LineNumber > 0 ? e.LineNumber : reader.LineNumber + 1, "the quotes are wrong, or the line has more than "
                + $"{MaxLineBytes:N0} bytes");
        }
    }

    private static List<Subscription> Read(CsvReader reader)
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
            if (reader.FieldCount > columns)
                throw Bad(line, $"it has {reader.FieldCount} fields, and the header {columns}");
            if (IsBlank(reader))
                continue;
            var address = Field(reader, email.Value);
            if (address.Length == 0)
                throw Bad(line, "the email is missing");
            if (!AccountRules.TryParse(address, out _, out _, out var broken))
                throw Bad(line, $"the email is not an address{Reason(broken)}");
            var subscribed = Field(reader, domain) is { Length: > 0 } text ? text : null;
            if (subscribed is not null && !AccountRules.TryParseDomain(subscribed, out _, out broken))
                throw Bad(line, $"the domain is not a domain{Reason(broken)}");
            var subscription = new Subscription(address, subscribed);
            if (!known.Add(subscription))
                continue;
            if (subscriptions.Count == MaxSubscribers)
                throw Bad(line, $"here are more than the {MaxSubscribers:N0} subscribers that one file may hold; divide it");
            subscriptions.Add(subscription);
        }
        return email is not null ? subscriptions
            : throw new BadInputException("the subscriber file is empty; its first line is expected to be the header email,domain");
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

    private static bool IsBlank(CsvReader row)
    {
        for (var i = 0; i < row.FieldCount; i++)
        {
            if (Field(row, i).Length > 0)
                return false;
        }
        return true;
    }

    private static string Field(CsvReader row, int column) =>
        column >= 0 && column < row.FieldCount ? row.GetString(column).Trim().ToLowerInvariant() : "";

    private static string Reason(AccountRule? broken) => broken is null ? "" : $" (it breaks the rule {broken})";

    private static BadInputException Bad(long line, string what) => new($"the subscriber file, line {line}: {what}; nothing was read");
}
