namespace HibpIngest.Tests.Catalogue;

public sealed class CatalogueMetadataTests
{
    [Fact]
    public void Attribution_and_DisclosureUrl_are_parsed_merged_and_published()
    {
        var metadata = Parse("""{"attribution":" somebody ","DisclosureUrl":"https://example.com/a?b=c"}""");
        Assert.Equal(("somebody", "https://example.com/a?b=c"), (metadata.Attribution, metadata.DisclosureUrl));
        Assert.Equivalent(metadata, BreachMetadata.Parse(metadata.ToJson()), strict: true);
        var merged = BreachMetadata.Merge(Encoding.UTF8.GetBytes("""{"Attribution":"another"}"""), metadata);
        Assert.Equal(("another", "https://example.com/a?b=c"), (merged.Attribution, merged.DisclosureUrl));
        var none = Parse("""{"Attribution":null,"DisclosureUrl":" "}""");
        Assert.Equal((null, null), (none.Attribution, none.DisclosureUrl));

        var published = PublicBreach.Of(new Breach { Name = "Adobe", Metadata = metadata });
        Assert.Equal((metadata.Attribution, metadata.DisclosureUrl), (published.Attribution, published.DisclosureUrl));
    }

    [Fact]
    public void FindUnknown_returns_unknown_fields_with_the_closest_known_name()
    {
        var all = BreachMetadata.FindUnknown(Encoding.UTF8.GetBytes(
            """
            {"Titel":1,"DATACLASS":[],"Zebra":1,"PwnCount":1,"LogoPath":"x","addedDate":"x","ModifiedDate":"x","name":"A","title":"x",
            "Domain":"x","BreachDate":null,"Description":"x","Attribution":"x","DisclosureUrl":null,"DataClasses":[],"Notify":"hold",
            "IsVerified":true,"fabricated":true,"IsSensitive":true,"IsRetired":true,"IsSpamList":true,"IsMalware":true,
            "IsSubscriptionFree":true,"IsStealerLog":true,"IsSensitve":true}
            """));
        Assert.Equal([("Titel", "Title"), ("DATACLASS", "DataClasses"), ("Zebra", null), ("IsSensitve", "IsSensitive")], all);
    }

    public static TheoryData<string> NoWebAddresses =>
    [
        "\"javascript:alert(1)\"", "\"example.com\"", "\"/local\"", "\"https://\"", "\"https://good.example@bad.example\"", "7",
    ];

    [Theory]
    [MemberData(nameof(NoWebAddresses))]
    public void DisclosureUrl_must_be_a_web_address(string value)
    {
        var error = Assert.Throws<BadInputException>(() => Parse($$"""{"DisclosureUrl":{{value}}}"""));
        Assert.Contains("disclosureurl: expected a", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("in/Adobe.2.zip", "in/Adobe.2.png", "in/Adobe.png")]
    [InlineData("Adobe.ZIP", "Adobe.png")]
    public void LogoBlobs_are_in_the_folder_of_the_zip(string zip, params string[] logos) => Assert.Equal(logos, BreachName.LogoBlobs(zip));

    private static BreachMetadata Parse(string json) => BreachMetadata.Parse(Encoding.UTF8.GetBytes(json));
}
