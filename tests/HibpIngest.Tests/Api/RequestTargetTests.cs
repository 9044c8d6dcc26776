using HibpIngest.Api.Requests;

namespace HibpIngest.Tests.Api;

/// <summary>Tests that each segment of a path is decoded exactly once.</summary>
public sealed class RequestTargetTests
{
    [Theory]
    [InlineData("/a/b%40c.d", "b@c.d")]
    [InlineData("/a/b@c.d?e=/f", "b@c.d")]
    [InlineData("/a/b@c.d#e/f", "b@c.d")]
    [InlineData("/a/b%3Fc%23d", "b?c#d")]
    [InlineData("/a/b+c", "b+c")]
    [InlineData("/a/b%2Bc", "b+c")]
    [InlineData("/a/b%20c", "b c")]
    [InlineData("/a/b%2540c", "b%40c")]
    [InlineData("/a/b%2Fc/d", "b/c")]
    [InlineData("/a/b%2fc/d", "b/c")]
    [InlineData("/a/b%5Cc", "b\\c")]
    [InlineData("/a/b%00c", "b\0c")]
    [InlineData("/a/m%C3%BCller", "müller")]
    [InlineData("/a/%F0%9F%98%80", "😀")]
    // A percent sign without two digits stays.
    [InlineData("/a/100%", "100%")]
    [InlineData("/a/1%2", "1%2")]
    [InlineData("/a/%zz%4", "%zz%4")]
    [InlineData("/a/%%41", "%A")]
    // Dots are not resolved, and a missing segment is empty.
    [InlineData("/a/..", "..")]
    [InlineData("/a/%2e%2e", "..")]
    [InlineData("/a/..%2F..%2Fb", "../../b")]
    [InlineData("/a", "")]
    [InlineData("/a/", "")]
    [InlineData("/", "")]
    [InlineData("*", "")]
    [InlineData("", "")]
    // The whole URL, as a proxy receives it.
    [InlineData("http://host/a/b%40c", "b@c")]
    [InlineData("https://host:8080/a/b?c=http://d/e/f", "b")]
    [InlineData("http://host", "")]
    [InlineData("host:443", "")]
    public void The_second_segment_is_decoded_once(string target, string second) => Assert.Equal(second, RequestTarget.Parse(target)[1]);

    [Theory]
    [InlineData("%C0%AF")]
    [InlineData("%C0%80")]
    [InlineData("%E0%80%AF")]
    [InlineData("%F0%80%80%AF")]
    [InlineData("%ED%A0%80")]
    [InlineData("%FF")]
    [InlineData("%C3")]
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
