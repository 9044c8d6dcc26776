namespace HibpIngest.Pipeline.Catalogue;

/// <summary>A change was made, but readers don't see it yet.</summary>
public sealed class CatalogueBehindException(string message, HibpException cause) : HibpException(message, cause);
