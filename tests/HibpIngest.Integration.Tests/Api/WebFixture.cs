using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>
/// Five breaches through the whole pipeline, and the API over the result: Alpha (verified), Beta (a spam list,
/// unverified), Gamma (sensitive), Delta (retired), Hidden (hidden by an operator).
/// </summary>
public sealed class WebFixture : IAsyncLifetime
{
    /// <summary>In Alpha, Beta, Gamma, Delta and Hidden.</summary>
    public const string InAll = "all@example.com";

    public const string InAlpha = "alpha+tag@example.com";

    public const string InGamma = "gamma@example.com";

    public const string InDelta = "delta@example.com";

    public const string InHidden = "hidden@example.com";

    internal PipelineRig Pipeline { get; private set; } = null!;

    internal WebRig Web { get; private set; } = null!;

    internal string Key { get; private set; } = "";

    internal string AllScopes { get; private set; } = "";

    public async Task InitializeAsync()
    {
        Pipeline = await PipelineRig.StartAsync(options => options.Upsert.Ranges = RangesMode.On);
        await DropAsync("Alpha", "2013-10-04", "\"IsVerified\":true", InAll, InAlpha, "other@example.org");
        await DropAsync("Beta", "2014-01-02", "\"IsSpamList\":true", InAll);
        await DropAsync("Gamma", "2015-02-03", "\"IsVerified\":true,\"IsSensitive\":true", InAll, InGamma);
        await DropAsync("Delta", "2016-03-04", "\"IsVerified\":true,\"IsRetired\":true", InAll, InDelta);
        await DropAsync("Hidden", "2017-04-05", "\"IsVerified\":true", InAll, InHidden);
        await Pipeline.RunToEndAsync();
        await Pipeline.Context.Get<BreachOperations>().SetHiddenAsync("Hidden", hidden: true, None);
        Web = await WebRig.StartAsync(Pipeline.Connection);
        Key = await Web.AddKeyAsync("search");
        AllScopes = await Web.AddKeyAsync(
            "all", Stores.KeyScopes.Search | Stores.KeyScopes.Range | Stores.KeyScopes.Domains | Stores.KeyScopes.Append, 60_000,
            "example.com", "example.org");
    }

    public async Task DisposeAsync()
    {
        await Web.DisposeAsync();
        await Pipeline.DisposeAsync();
    }

    private Task DropAsync(string name, string date, string flags, params string[] accounts) => Pipeline.DropAsync(
        $"{name}.zip", PipelineRig.Zip(("list.txt", string.Join('\n', accounts))),
        $$"""
        {"Title":"The {{name}} breach","Domain":"{{name.ToLowerInvariant()}}.example","BreachDate":"{{date}}",
        "Description":"In {{date[..4]}}, <em>{{name}}</em> lost it.","DataClasses":["Passwords","Email addresses"],{{flags}} }
        """);
}
