// A storage account in a second region with a copy of the releases of Pwned Passwords. The web app there
// reads it first (docs/passwords.md). It contains nothing else: keys, accounts and catalogue are read from
// the breaches' account in every region.
param accountName string
param location string
param sku string
param webPrincipalId string
param operatorObjectId string
param operatorType string

// IPasswordBlobs.Container in the code.
var passwordsContainer = 'passwords'

// learn.microsoft.com/azure/role-based-access-control/built-in-roles
var roles = {
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
  'Storage Blob Data Reader': '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
}

// The operator copies releases here and switches between them. Releases that are kept in tables get tables
// here too.
var operatorRoles = ['Storage Blob Data Contributor', 'Storage Table Data Contributor']

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

    resource passwords 'containers' = {
      name: passwordsContainer
      properties: {
        publicAccess: 'None'
      }
    }
  }
}

resource operatorAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in operatorRoles: if (!empty(operatorObjectId)) {
    name: guid(account.id, operatorObjectId, roles[role])
    scope: account
    properties: {
      principalId: operatorObjectId
      principalType: operatorType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
    }
  }
]

resource webAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account::blobs::passwords.id, webPrincipalId, roles['Storage Blob Data Reader'])
  scope: account::blobs::passwords
  properties: {
    principalId: webPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Storage Blob Data Reader']
    )
  }
}

output accountName string = account.name
