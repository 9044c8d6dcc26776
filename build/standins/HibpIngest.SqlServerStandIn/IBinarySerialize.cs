namespace Microsoft.SqlServer.Server;

/// <summary>A user-defined type that serialises itself. Microsoft.Data.SqlClient names it; user-defined types are not used here.</summary>
public interface IBinarySerialize
{
    void Read(BinaryReader r);

    void Write(BinaryWriter w);
}
