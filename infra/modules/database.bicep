// A serverless database with Entra sign-in only. It pauses when no session is open.
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
    // Applied at creation only. To change it later, run az sql server ad-admin create.
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

  // 0.0.0.0 allows all addresses within Azure, because Flex Consumption has no fixed addresses outside a
  // virtual network. A caller still needs a token of an identity that has access.
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
// Without credentials, the program signs in with Azure.Identity.
output connection string = 'Server=tcp:${server.properties.fullyQualifiedDomainName},1433;Database=${server::database.name};Encrypt=True'
