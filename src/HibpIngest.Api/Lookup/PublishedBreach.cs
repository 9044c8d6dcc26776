namespace HibpIngest.Api.Lookup;

/// <summary>A breach of the catalogue with its serialised forms.</summary>
public sealed class PublishedBreach
{
    public required PublicBreach Model { get; init; }

    /// <summary><see cref="Model"/> as JSON, in UTF-8.</summary>
    public required ReadyContent Json { get; init; }

    /// <summary><c>{"Name":"..."}</c>, in UTF-8: the form in most responses.</summary>
    public required ReadOnlyMemory<byte> NameJson { get; init; }

    /// <summary>Position by ordinal order of names: the order of breaches in an account's response.</summary>
    public required int Ordinal { get; init; }

    public static PublishedBreach Of(PublicBreach model, int ordinal) => new()
    {
        Model = model,
        Json = ReadyContent.Of(JsonSerializer.SerializeToUtf8Bytes(model, CatalogueJson.Default.PublicBreach)),
        NameJson = JsonSerializer.SerializeToUtf8Bytes(new { model.Name }),
        Ordinal = ordinal,
    };
}
