using System.Text.Json;

namespace HibpIngest.AzureStorage.Tables;

/// <summary>An entity as it was read, and a mark that is to go from it.</summary>
internal readonly struct MarkRemoval(JsonElement entity, string property)
{
    private const string TypeSuffix = "@odata.type";

    public string Domain => entity.GetProperty("PartitionKey").GetString()!;

    public string RowKey => entity.GetProperty("RowKey").GetString()!;

    public string ETag => entity.GetProperty("odata.etag").GetString()!;

    /// <summary>Whether it has the mark.</summary>
    public bool IsDue => entity.TryGetProperty(property, out _);

    /// <summary>Whether nothing is left of it without the mark.</summary>
    public bool Empties
    {
        get
        {
            foreach (var other in entity.EnumerateObject())
            {
                if (IsKept(other.Name) && !other.Name.EndsWith(TypeSuffix, StringComparison.Ordinal))
                    return false;
            }

            return true;
        }
    }

    /// <summary>Writes all that is left, whoever wrote it, as it was read.</summary>
    public void WriteRest(Utf8JsonWriter writer)
    {
        foreach (var other in entity.EnumerateObject())
        {
            if (IsKept(other.Name))
                other.WriteTo(writer);
        }
    }

    private bool IsKept(string name)
    {
        var of = name.EndsWith(TypeSuffix, StringComparison.Ordinal) ? name[..^TypeSuffix.Length] : name;
        return of != property
            && of is not ("PartitionKey" or "RowKey" or "Timestamp")
            && !of.StartsWith("odata.", StringComparison.Ordinal);
    }
}
