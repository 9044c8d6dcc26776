namespace HibpIngest.Stores;

public enum LogMode
{
    /// <summary>Each load, once its accounts are in the tables.</summary>
    On,

    /// <summary>Nothing is: what SQL loses, or purges, can't be had again but from the archives.</summary>
    Off,
}
