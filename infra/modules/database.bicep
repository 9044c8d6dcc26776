// A serverless database that pauses when nothing is open, with Entra sign-in only.
param serverName string
param location string
param adminName string
param adminObjectId string
param adminType string
param maxVCores int
param minVCores string
param autoPauseMinutes int
param maxSizeGB int
param freeOffer bool

resource server 'Microsoft.Sql/servers@2023-08-01' = {
  name: serverName
  location: location
  properties: {
    version: '12.0'
    minimalTlsVersion: '1.2'
    publicNetworkAccess: 'Enabled'
    // Taken at creation only; change it later with: az sql server ad-admin create
    administrators: {
      administratorType: 'ActiveDirectory'
      azureADOnlyAuthentication: true
      login: adminName
      sid: adminObjectId
      principalType: adminType
      tenantId: tenant().tenantId
    }
  }

  resource database 'databases' = {
    name: 'hibp'
    location: location
    sku: {
      name: 'GP_S_Gen5'
      tier: 'GeneralPurpose'
      family: 'Gen5'
      capacity: maxVCores
    }
    properties: {
      minCapacity: json(minVCores)
      autoPauseDelay: autoPauseMinutes
      maxSizeBytes: maxSizeGB * 1024 * 1024 * 1024
      requestedBackupStorageRedundancy: 'Local'
      useFreeLimit: freeOffer
      freeLimitExhaustionBehavior: freeOffer ? 'BillOverUsage' : null
    }
  }

  // 0.0.0.0 stands for "addresses within Azure": Flex Consumption has no fixed ones outside a virtual network. A caller still needs a token of a known identity.
  resource azure 'firewallRules' = {
    name: 'AllowAllWindowsAzureIps'
    properties: {
      startIpAddress: '0.0.0.0'
      endIpAddress: '0.0.0.0'
    }
  }
}

output serverName string = server.name
output host string = server.properties.fullyQualifiedDomainName
output databaseName string = server::database.name
// No credentials: the program then signs in with Azure.Identity.
output connection string = 'Server=tcp:${server.properties.fullyQualifiedDomainName},1433;Database=${server::database.name};Encrypt=True'
