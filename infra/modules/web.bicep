// The web app on Flex Consumption: the API, an isolated worker with its own package. Its identity reads what
// a lookup needs and writes only the access log and submitted passwords. It has none of the pipeline's
// settings and secrets. The platform's CORS stays off: the API decides what browsers of other sites may read,
// and the platform's responses would replace its own.
param appName string
param planName string
param location string
param identityId string
param identityClientId string
param hostStorageAccountName string
param packageContainerUrl string
param storageAccountName string
@description('Storage account of Pwned Passwords in the app\'s own region. Empty: they are read from the breaches\' account only.')
param nearestAccountName string
param appInsightsConnection string
param webUrl string
@description('HIBP_SERVICE_NAME. Empty: the pages use a general name.')
param serviceName string
@description('HIBP_LINK_KEYS. Empty: no pages for people are served.')
@secure()
param linkKeys string
@description('HIBP_TICKET_KEY, the same for all instances. Empty: each instance makes its own.')
@secure()
param ticketKey string
@description('HIBP_COMMAND_PUBLIC_KEY. Empty: nobody can subscribe.')
param commandPublicKey string
param proxies int
param instanceMemoryMB int
param maximumInstanceCount int
param concurrency int
param alwaysReady array

var settings = {
  // The host's own storage account.
  AzureWebJobsStorage__accountName: hostStorageAccountName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  // The path of a request contains the account. So the host gets no Application Insights, whose requests and
  // dependencies contain paths; the app sends its own telemetry, which contains routes. The logging settings
  // below are in host.json too, because setting names with periods may not take effect.
  HIBP_APPINSIGHTS: appInsightsConnection
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  'AzureFunctionsJobHost__logging__logLevel__Host.Results': 'None'
  'AzureFunctionsJobHost__logging__logLevel__Function.Web': 'Warning'
  AzureFunctionsJobHost__logging__logLevel__Yarp: 'None'
  AzureFunctionsJobHost__logging__applicationInsights__enableDependencyTracking: 'false'
  // The host uses the platform's entry in X-Forwarded-For as the caller's address, and passes only that one
  // to the app.
  ASPNETCORE_FORWARDEDHEADERS_ENABLED: 'true'
  // The app's own settings. AZURE_CLIENT_ID selects the identity for Azure.Identity.
  AZURE_CLIENT_ID: identityClientId
  HIBP_STORAGE: storageAccountName
  HIBP_WEB_URL: webUrl
  HIBP_PROXIES: string(proxies)
}
var serviceNameSettings = empty(serviceName) ? {} : { HIBP_SERVICE_NAME: serviceName }
var linkKeysSettings = empty(linkKeys) ? {} : { HIBP_LINK_KEYS: linkKeys }
var ticketKeySettings = empty(ticketKey) ? {} : { HIBP_TICKET_KEY: ticketKey }
var commandPublicKeySettings = empty(commandPublicKey) ? {} : { HIBP_COMMAND_PUBLIC_KEY: commandPublicKey }
var nearestSettings = empty(nearestAccountName) ? {} : { HIBP_PASSWORDS_NEAREST: nearestAccountName }

// Flex Consumption allows only one app per plan.
resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: appName
  location: location
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    siteConfig: {
      minTlsVersion: '1.2'
    }
    functionAppConfig: {
      runtime: {
        name: 'dotnet-isolated'
        version: '10.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: concurrency
          }
        }
      }
    }
  }

  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(
      settings,
      serviceNameSettings,
      linkKeysSettings,
      ticketKeySettings,
      commandPublicKeySettings,
      nearestSettings
    )
  }

  // Publishing with a password is off.
  resource ftp 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: {
      allow: false
    }
  }

  resource scm 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: {
      allow: false
    }
  }
}
