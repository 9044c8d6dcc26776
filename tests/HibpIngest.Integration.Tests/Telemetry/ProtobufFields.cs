namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Reads protobuf without its schema (protobuf.dev/programming-guides/encoding), enough to find fields by their numbers.</summary>
internal static class ProtobufFields
{
    /// <summary>Returns the fields at a path of field numbers, each a message, a string or bytes.</summary>
    public static IEnumerable<byte[]> At(byte[] message, params int[] path) =>
        path is [var first, .. var rest]
        ? Fields(message).Where(field => field.Number == first).SelectMany(field => At(field.Content, rest)) : [message];

    private static List<(int Number, byte[] Content)> Fields(byte[] message)
    {
        var fields = new List<(int Number, byte[] Content)>();
        for (var at = 0; at < message.Length;)
        {
            var tag = Varint(message, ref at);
            switch (tag & 7)
            {
                case 0:
                    _ = Varint(message, ref at);
                    break;
                case 1:
                    at += sizeof(ulong);
                    break;
                case 2:
                    var length = (int)Varint(message, ref at);
                    fields.Add(((int)(tag >> 3), message[at..(at + length)]));
                    at += length;
                    break;
                case 5:
                    at += sizeof(uint);
                    break;
                default:
                    throw new InvalidDataException($"wire type {tag & 7}");
            }
        }
        return fields;
    }

    private static ulong Varint(byte[] message, ref int at)
    {
        var value = 0UL;
        for (var shift = 0; ; shift += 7)
        {
            var part = message[at++];
            value |= (ulong)(part & 0x7F) << shift;
            if (part < 0x80)
                return value;
        }
    }
}
