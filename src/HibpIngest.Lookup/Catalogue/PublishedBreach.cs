using System.Text.Json;
using HibpIngest.Breaches;

namespace HibpIngest.Lookup;

/// <summary>A breach of the catalogue, with what is sent of it, ready to be written.</summary>
public sealed class PublishedBreach
{
    public required PublicBreach Model { get; init; }

    /// <summary>The same as JSON, in UTF-8.</summary>
    public required ReadyContent Json { get; init; }

    /// <summary><c>{"Name":"..."}</c>, in UTF-8: what most answers say of it.</summary>
    public required ReadOnlyMemory<byte> NameJson { get; init; }

    /// <summary>Its place among the breaches by name, in the order of characters: the order of an account's answer.</summary>
    public required int Ordinal { get; init; }

    /// <summary>Of what is told of a breach.</summary>
    public static PublishedBreach Of(PublicBreach model, int ordinal) => new()
    {
        Model = model,
        Json = ReadyContent.Of(JsonSerializer.SerializeToUtf8Bytes(model, CatalogueJson.Default.PublicBreach)),
        NameJson = JsonSerializer.SerializeToUtf8Bytes(new Truncated(model.Name)),
        Ordinal = ordinal,
    };

    private sealed record Truncated(string Name);
}
