// The storage account of one app's Functions host: the app's package, the keys of its functions and webhooks,
// its leases, and the queue between a blob's event and its call. Write access to it allows running code as
// the app, with its roles and secrets. So only the app itself has roles here, and breaches are dropped into
// another account.
param accountName string
param location string
param sku string
param appPrincipalId string
@description('Whether the app has triggers other than HTTP. If so, the host also keeps a queue and tables here.')
param hasTriggers bool

var packageContainer = 'app-package'

// learn.microsoft.com/azure/role-based-access-control/built-in-roles
var roles = {
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

// Blobs for the package, leases and keys, queues for the blob trigger, and tables for the host's own
// diagnostics
// (learn.microsoft.com/azure/azure-functions/functions-reference#connecting-to-host-storage-with-an-identity).
var appRoles = ['Storage Blob Data Owner']
var triggerRoles = ['Storage Queue Data Contributor', 'Storage Table Data Contributor']

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: accountName
  location: location
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: 'Enabled'
  }

  resource blobs 'blobServices' = {
    name: 'default'

    // The host creates all other containers itself.
    resource package 'containers' = {
      name: packageContainer
      properties: {
        publicAccess: 'None'
      }
    }
  }
}

resource appAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in appRoles: {
    name: guid(account.id, appPrincipalId, roles[role])
    scope: account
    properties: {
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
    }
  }
]

resource triggerAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in triggerRoles: if (hasTriggers) {
    name: guid(account.id, appPrincipalId, roles[role])
    scope: account
    properties: {
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
    }
  }
]

output accountName string = account.name
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${packageContainer}'
