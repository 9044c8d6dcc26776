using Google.Protobuf;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Reads protobuf without its schema (protobuf.dev/programming-guides/encoding), enough to find fields by their numbers.</summary>
internal static class ProtobufFields
{
    /// <summary>Returns the fields at a path of field numbers, each a message, a string or bytes.</summary>
    public static IEnumerable<byte[]> At(byte[] message, params int[] path) =>
        path is [var first, .. var rest]
        ? Fields(message).Where(field => field.Number == first).SelectMany(field => At(field.Content, rest)) : [message];

    private static IEnumerable<(int Number, byte[] Content)> Fields(byte[] message)
    {
        var input = new CodedInputStream(message);
        while (input.ReadTag() is var tag and not 0)
        {
            if (WireFormat.GetTagWireType(tag) == WireFormat.WireType.LengthDelimited)
                yield return (WireFormat.GetTagFieldNumber(tag), input.ReadBytes().ToByteArray());
            else
                input.SkipLastField();
        }
    }
}
