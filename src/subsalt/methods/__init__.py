"""Methods of imaging: reverse time migration and Kirchhoff time migration."""
