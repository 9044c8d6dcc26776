namespace HibpIngest.Functions;

/// <summary>
/// httpTrigger on every path, anonymous, in an app of its own: the API, which looks at keys itself. The host passes each request
/// on as it is, so that nothing here is ever invoked.
/// </summary>
internal static class WebFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "Web";

    /// <summary>What the host lets through, and the API answers.</summary>
    public static readonly IReadOnlyList<string> Methods =
        [HttpMethods.Get, HttpMethods.Head, HttpMethods.Options, HttpMethods.Post, HttpMethods.Put, HttpMethods.Delete];
}
