using HibpIngest.Api.Requests;

namespace HibpIngest.Tests.Api;

public sealed class RequestTargetTests
{
    public static TheoryData<string, string> SecondSegments => new()
    {
        { "/a/b%40c.d", "b@c.d" }, { "/a/b@c.d?e=/f", "b@c.d" }, { "/a/b@c.d#e/f", "b@c.d" }, { "/a/b%3Fc%23d", "b?c#d" },
        { "/a/b+c", "b+c" }, { "/a/b%2Bc", "b+c" }, { "/a/b%20c", "b c" }, { "/a/b%2540c", "b%40c" }, { "/a/b%2Fc/d", "b/c" },
        { "/a/b%2fc/d", "b/c" }, { "/a/b%5Cc", "b\\c" }, { "/a/b%00c", "b\0c" }, { "/a/m%C3%BCller", "müller" },
        { "/a/%F0%9F%98%80", "😀" },
        // A percent sign without two digits stays.
        { "/a/100%", "100%" }, { "/a/1%2", "1%2" }, { "/a/%zz%4", "%zz%4" }, { "/a/%%41", "%A" },
        // Dots are not resolved, and a missing segment is empty.
        { "/a/..", ".." }, { "/a/%2e%2e", ".." }, { "/a/..%2F..%2Fb", "../../b" }, { "/a", "" }, { "/a/", "" }, { "/", "" }, { "*", "" },
        { "", "" },
        // The whole URL, as a proxy receives it.
        { "http://host/a/b%40c", "b@c" }, { "https://host:8080/a/b?c=http://d/e/f", "b" }, { "http://host", "" }, { "host:443", "" },
    };

    [Theory]
    [MemberData(nameof(SecondSegments))]
    public void The_second_segment_is_decoded_once(string target, string second) => Assert.Equal(second, RequestTarget.Parse(target)[1]);

    public static TheoryData<string> InvalidUtf8 => ["%C0%AF", "%C0%80", "%E0%80%AF", "%F0%80%80%AF", "%ED%A0%80", "%FF", "%C3"];

    [Theory]
    [MemberData(nameof(InvalidUtf8))]
    public void Invalid_UTF8_becomes_replacement_characters(string bytes)
    {
        var second = RequestTarget.Parse($"/a/b{bytes}c")[1];
        Assert.Equal(['b', 'c'], second.Where(character => character != '\uFFFD'));
        Assert.True(second.Length > 2);
    }

    [Theory]
    [InlineData("/api/v3/x", "/api/v3/x")]
    [InlineData("/%61pi/v3/x", "/api/v3/x")]
    [InlineData("/api%2Fv3/x", "/api%2Fv3/x")]
    [InlineData("/a/../b", "/a/../b")]
    [InlineData("//a", "//a")]
    [InlineData("/a/?b", "/a/")]
    public void Path_decodes_segments_but_keeps_an_encoded_slash(string target, string path) =>
        Assert.Equal(path, RequestTarget.Parse(target).Path is { } own ? own.Value : target.Split('?')[0]);
}
